// The bare loop that tests/bench/packing.py compares `tandem pack` with: threads that read JPEG
// files and decode them to RGB by libjpeg into buffers that they reuse. It checks nothing.
//
// Usage: bench_decode_files THREADS < LIST
// LIST has one path per line.
#include <cstdio>
// <jpeglib.h> needs <cstdio> and does not include it.
#include <jpeglib.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/file.hpp"

namespace {

class Decoder {
 public:
  Decoder() {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&info_);
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void decode(const std::string& path) {
    const tandem::File file = tandem::File::open_for_reading(path);
    bytes_.resize(file.size());
    bytes_.resize(file.read_at(0, bytes_.data(), bytes_.size()));
    jpeg_mem_src(&info_, bytes_.data(), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    const std::size_t row_bytes = std::size_t{3} * info_.output_width;
    pixels_.resize(row_bytes * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels_.data() + row_bytes * info_.output_scanline;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
  }

 private:
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::vector<unsigned char> bytes_;
  std::vector<unsigned char> pixels_;
};

}  // namespace

int main(int count, char** words) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: bench_decode_files THREADS < LIST\n");
    return 2;
  }
  std::vector<std::string> paths;
  for (std::string path; std::getline(std::cin, path);) paths.push_back(path);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    try {
      Decoder decoder;
      for (std::size_t i = next++; i < paths.size(); i = next++) decoder.decode(paths[i]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_decode_files: %s\n", error.what());
      failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::stoi(words[1]); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return failed ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_decode_files: %s\n", error.what());
  return 1;
}
