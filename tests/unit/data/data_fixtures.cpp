#include "data_fixtures.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tandem::testing {
namespace {

std::string pixels_of(int image, std::size_t count) {
  std::string pixels(count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    pixels[i] = static_cast<char>((static_cast<std::size_t>(image) * 37 + i * 11 + i / 7) % 256);
  }
  return pixels;
}

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

}  // namespace

void write_bytes(const std::string& path, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string gzip(const std::string& bytes) {
  z_stream zlib{};
  if (deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("zlib cannot be started");
  }
  std::string packed(deflateBound(&zlib, bytes.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  deflate(&zlib, Z_FINISH);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

std::string tar_member(const std::string& name, const std::string& content, char type) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  std::array<char, 12> size{};
  std::snprintf(size.data(), size.size(), "%011zo", content.size());
  header.replace(124, 11, size.data());
  header[156] = type;
  header.replace(257, 8, "ustar\00000", 8);
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  std::array<char, 8> checksum{};
  std::snprintf(checksum.data(), checksum.size(), "%06o", sum);
  header.replace(148, 7, checksum.data(), 7);
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string tar_end() { return std::string(1024, '\0'); }

std::vector<std::pair<std::string, std::string>> cifar10_files(int images) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"batches.meta.txt",
       "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"}};
  const std::array<const char*, 6> names = {"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};
  for (int file = 0; file < 6; ++file) {
    std::string records;
    for (int i = 0; i < images; ++i) {
      records += static_cast<char>((i + file) % 10);
      records += pixels_of(file * images + i, 3072);
    }
    files.emplace_back(names[static_cast<std::size_t>(file)], records);
  }
  return files;
}

void write_cifar10(const std::string& folder, int images) {
  for (const auto& [name, content] : cifar10_files(images)) {
    write_bytes(folder + "/" + name, content);
  }
}

std::string idx(const std::vector<std::uint32_t>& dimensions, const std::string& values) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(dimensions.size());
  for (const std::uint32_t extent : dimensions) file += big_endian(extent);
  return file + values;
}

std::vector<std::pair<std::string, std::string>> mnist_files(int train, int test) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [prefix, count] : {std::pair("train", train), std::pair("t10k", test)}) {
    std::string images;
    std::string labels;
    for (int i = 0; i < count; ++i) {
      images += pixels_of(i, 784);
      labels += static_cast<char>(i % 10);
    }
    const auto extent = static_cast<std::uint32_t>(count);
    files.emplace_back(std::string(prefix) + "-images-idx3-ubyte", idx({extent, 28, 28}, images));
    files.emplace_back(std::string(prefix) + "-labels-idx1-ubyte", idx({extent}, labels));
  }
  return files;
}

void write_mnist(const std::string& folder, int train, int test) {
  for (const auto& [name, content] : mnist_files(train, test)) {
    write_bytes(folder + "/" + name, content);
  }
}

namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::uint32_t crc_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

std::string png_chunk(const std::string& name, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size())) + name + data +
         big_endian(crc_of(name + data));
}

// In zlib's form.
std::string deflated_bytes(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

}  // namespace

namespace {

std::string png_of_rows(std::uint32_t height, std::uint32_t width, int channels,
                        const std::string& rows) {
  const std::string header = big_endian(width) + big_endian(height) + '\x08' +
                             (channels == 3 ? '\2' : '\0') + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", deflated_bytes(rows)) +
         png_chunk("IEND", "");
}

}  // namespace

std::string png_claiming(std::uint32_t height, std::uint32_t width) {
  return png_of_rows(height, width, 3, std::string(100, '\0'));
}

std::string png(int height, int width, int channels, const std::string& values) {
  const auto row = static_cast<std::size_t>(width * channels);
  std::string rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    rows += '\0' + values.substr(y * row, row);
  }
  return png_of_rows(static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width),
                     channels, rows);
}

std::string npy(const std::string& type, const std::string& shape, const std::string& values) {
  std::string dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.resize(118 - 1, ' ');
  dict += '\n';
  return std::string("\x93NUMPY\1\0", 8) + little_endian(dict.size(), 2) + dict + values;
}

std::string zip(const std::vector<std::pair<std::string, std::string>>& members, bool deflated) {
  std::string archive;
  std::string directory;
  for (const auto& [name, content] : members) {
    // Without zlib's own two bytes in front and four behind.
    std::string data = content;
    if (deflated) data = deflated_bytes(content);
    if (deflated) data = data.substr(2, data.size() - 6);
    const std::string common = little_endian(deflated ? 8 : 0, 2) + little_endian(0, 4) +
                               little_endian(crc_of(content), 4);
    const std::size_t at = archive.size();
    // numpy writes sizes as zip64 in the local header, and plainly in the directory.
    const std::string extra = little_endian(1, 2) + little_endian(16, 2) +
                              little_endian(content.size(), 8) + little_endian(data.size(), 8);
    archive += std::string("PK\3\4\x2d\0\0\0", 8) + common + std::string(8, '\xff') +
               little_endian(name.size(), 2) + little_endian(extra.size(), 2) + name + extra + data;
    directory += std::string("PK\1\2\x2d\3\x2d\0\0\0", 10) + common +
                 little_endian(data.size(), 4) + little_endian(content.size(), 4) +
                 little_endian(name.size(), 2) + std::string(12, '\0') + little_endian(at, 4) +
                 name;
  }
  const std::size_t at = archive.size();
  return archive + directory + std::string("PK\5\6\0\0\0\0", 8) + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) +
         little_endian(at, 4) + little_endian(0, 2);
}

void expect_error(ExitCode code, const std::vector<std::string>& parts,
                  const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << message;
    }
    return;
  }
  ADD_FAILURE() << "nothing was thrown, code " << static_cast<int>(code) << " was expected";
}

}  // namespace tandem::testing
