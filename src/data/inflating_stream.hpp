// What: the part that streams of compressed data have in common: zlib's state and its loop.
// Owns: zlib's state. Threads: one. Throws: InternalError where zlib cannot be started, and what
// the stream itself throws.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "byte_stream.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {

// A byte of deflate data becomes at most so many (https://zlib.net/zlib_tech.html), and what zlib
// has taken in and not yet given out becomes less than its window.
constexpr std::uint64_t kMostInflated = 1032;
constexpr std::uint64_t kInflateWindow = 32 * 1024;

class InflatingStream : public ByteStream {
 public:
  // `window_bits` as for inflateInit2: it says which format is read.
  explicit InflatingStream(int window_bits) {
    if (inflateInit2(&zlib_, window_bits) != Z_OK) {
      throw InternalError("zlib could not be started");
    }
  }
  ~InflatingStream() override { inflateEnd(&zlib_); }
  InflatingStream(const InflatingStream&) = delete;
  InflatingStream& operator=(const InflatingStream&) = delete;

  std::size_t read(void* data, std::size_t bytes) override {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits
    std::size_t done = 0;
    while (done < bytes && !ended_) {
      const std::size_t step = std::min(bytes - done, kMostAtOnce);
      zlib_.next_out = static_cast<Bytef*>(data) + done;
      zlib_.avail_out = static_cast<uInt>(step);
      inflate_some();
      done += step - zlib_.avail_out;
    }
    return done;
  }

 protected:
  // Calls inflate() once, with new input where there is none, and sets ended_ after the last byte.
  virtual void inflate_some() = 0;

  z_stream zlib_{};
  bool ended_ = false;
};

}  // namespace tandem::data
