#include "byte_stream.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "source_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kZipMagic = "PK";
constexpr int kGzipOnly = 16 + MAX_WBITS;
// The input that zlib holds back becomes less than its window.
constexpr std::uint64_t kInflateWindow = std::uint64_t{32} * 1024;

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(File file) : file_(std::move(file)) {}

  std::size_t read(void* data, std::size_t bytes) override {
    const std::size_t got = file_.read_at(offset_, data, bytes);
    offset_ += got;
    return got;
  }
  std::uint64_t most_left() const override {
    const std::uint64_t size = file_.size();
    return size - std::min(offset_, size);
  }
  std::string where() const override { return file_.path(); }

 private:
  File file_;
  std::uint64_t offset_ = 0;
};

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(File file) : file_(std::move(file)), input_(std::size_t{1} << 18) {
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) throw InternalError("zlib could not be started");
  }
  ~GzipStream() override { inflateEnd(&zlib_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(void* data, std::size_t bytes) override {
    constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits
    std::size_t done = 0;
    while (done < bytes && !ended_) {
      const std::size_t step = std::min(bytes - done, kMaxAtOnce);
      zlib_.next_out = static_cast<Bytef*>(data) + done;
      zlib_.avail_out = static_cast<uInt>(step);
      inflate_some();
      done += step - zlib_.avail_out;
    }
    return done;
  }

  std::uint64_t most_left() const override {
    const std::uint64_t size = file_.size();
    const std::uint64_t unread = size - std::min(file_offset_, size) + zlib_.avail_in;
    return unread * kMaxInflated + kInflateWindow;
  }
  std::string where() const override { return file_.path(); }

 private:
  void inflate_some() {
    if (zlib_.avail_in == 0) refill();
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      // The format allows another compressed part to follow at once.
      if (zlib_.avail_in == 0) refill();
      ended_ = zlib_.avail_in == 0;
      if (!ended_) inflateReset(&zlib_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw fault_at(file_.path(), compressed_offset(),
                     std::string("damaged gzip data (") + (zlib_.msg ? zlib_.msg : "zlib") + ")",
                     "whole gzip data");
    } else if (zlib_.avail_in == 0 && zlib_.avail_out > 0 && file_ended_) {
      throw fault_at(file_.path(), compressed_offset(), "the end of the file", "more gzip data");
    }
  }

  void refill() {
    const std::size_t got = file_.read_at(file_offset_, input_.data(), input_.size());
    file_offset_ += got;
    file_ended_ = got < input_.size();
    zlib_.next_in = input_.data();
    zlib_.avail_in = static_cast<uInt>(got);
  }

  std::uint64_t compressed_offset() const { return file_offset_ - zlib_.avail_in; }

  File file_;
  z_stream zlib_{};
  bool ended_ = false;
  std::vector<Bytef> input_;
  std::uint64_t file_offset_ = 0;
  bool file_ended_ = false;
};

std::string beginning_of(const File& file) {
  std::string beginning(64, '\0');
  beginning.resize(file.read_at(0, beginning.data(), beginning.size()));
  return beginning;
}

}  // namespace

std::unique_ptr<ByteStream> open_byte_stream(const std::string& path) {
  File file = File::open_for_reading(path);
  if (begins_with(beginning_of(file), kGzipMagic)) {
    return std::make_unique<GzipStream>(std::move(file));
  }
  return std::make_unique<PlainStream>(std::move(file));
}

std::string beginning_of(const std::string& path) {
  return beginning_of(File::open_for_reading(path));
}

bool is_gzip_file(const std::string& path) { return begins_with(beginning_of(path), kGzipMagic); }

bool is_zip_file(const std::string& path) { return begins_with(beginning_of(path), kZipMagic); }

std::string foreign_picture(std::string_view beginning) {
  struct Kind {
    const char* name;
    std::size_t at;
    std::string_view signature;
  };
  constexpr std::array<Kind, 10> kKinds = {{
      {"a WebP", 8, "WEBP"},
      {"a GIF", 0, "GIF8"},
      {"a BMP", 6, std::string_view("\0\0\0\0", 4)},
      {"a TIFF", 0, std::string_view("II*\0", 4)},
      {"a TIFF", 0, std::string_view("MM\0*", 4)},
      {"an AVIF", 4, "ftypavif"},
      {"a HEIC", 4, "ftyphei"},
      {"a HEIC", 4, "ftypmif1"},
      {"a JPEG XL", 4, "JXL "},
      {"a JPEG 2000", 4, "jP  "},
  }};
  for (const Kind& kind : kKinds) {
    const bool is_bmp = kind.at == 6;  // its first two letters alone are too few
    if (is_bmp && !begins_with(beginning, "BM")) continue;
    if (beginning.size() > kind.at && begins_with(beginning.substr(kind.at), kind.signature)) {
      return std::string(kind.name) + " picture";
    }
  }
  return "";
}

std::string describe_beginning(std::string_view beginning) {
  if (beginning.empty()) return "an empty file";
  if (begins_with(beginning, kGzipMagic)) return "gzip data";
  if (begins_with(beginning, kHdf5Signature)) return "an HDF5 file";
  if (begins_with(beginning, kZipMagic)) return "a zip archive";
  if (begins_with(beginning, kSealBegins)) return "a packed data set";
  if (begins_with(beginning, "\x93NUMPY")) return "an array of numpy";
  if (begins_with(beginning, "\x89PNG\r\n")) return "a PNG picture";
  if (begins_with(beginning, "\xff\xd8\xff")) return "a JPEG picture";
  if (std::string picture = foreign_picture(beginning); !picture.empty()) return picture;
  const std::size_t text = beginning.find_first_not_of(" \t\r\n", byte_order_mark_bytes(beginning));
  if (text != std::string_view::npos && beginning[text] == '<') {
    return "a web page or other XML, as a failed download leaves it";
  }
  const std::string_view line = beginning.substr(0, beginning.find_first_of("\r\n"));
  if (std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 127; })) {
    return "text that begins with '" + std::string(line.substr(0, 24)) + "'";
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string bytes;
  for (const char c : beginning.substr(0, 8)) {
    const auto byte = static_cast<unsigned char>(c);
    bytes += {' ', kHex[byte >> 4], kHex[byte & 15]};
  }
  return "data that begins with" + bytes;
}

std::string describe_file(const std::string& path) {
  return describe_beginning(beginning_of(path));
}

}  // namespace tandem::data
