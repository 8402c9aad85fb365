#include "encoded_pictures.hpp"

#include "data/packed/user_block.hpp"
#include "data_fixtures.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/data/image_file.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::testing {

using data::Split;

void write_pictures(const std::string& folder, int classes, int count) {
  for (int label = 0; label < classes; ++label) {
    const std::string digits = std::to_string(label);
    const std::string name = "class" + std::string(3 - digits.size(), '0') + digits;
    for (int i = 0; i < count; ++i) {
      const data::ImageShape shape{3, 5 + i % 7, 6 + i % 5};
      std::vector<std::uint8_t> pixels;
      for (std::size_t k = 0; k < shape.pixels(); ++k) {
        pixels.push_back(
            static_cast<std::uint8_t>(k * 7 + static_cast<std::size_t>(37 * label + 11 * i)));
      }
      const bool is_png = i % 3 == 0;
      write_bytes(
          folder + "/" + name + "/" + std::to_string(i) + (is_png ? ".png" : ".jpg"),
          is_png ? data::encode_png(shape, pixels) : data::encode_jpeg(shape, pixels, 80 + i % 20));
    }
  }
}

std::string AllOf::file(std::size_t split, std::size_t image) const {
  const data::PicturePlace& place = places[split][image];
  return {bytes[split].begin() + static_cast<std::ptrdiff_t>(place.begin),
          bytes[split].begin() + static_cast<std::ptrdiff_t>(place.end)};
}

std::vector<std::uint8_t> AllOf::pixels(std::size_t split, std::size_t image) const {
  const std::size_t size = info.shape.pixels();
  const auto first = images[split].begin() + static_cast<std::ptrdiff_t>(image * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

AllOf all_of(const std::string& path) {
  const data::PackedFile file(path);
  AllOf all;
  all.info = file.info();
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const std::size_t i = split == Split::kTrain ? 0 : 1;
    const std::size_t count = all.info.count(split);
    all.bytes[i].resize(all.info.encoded_bytes(split));
    all.places[i].resize(count);
    all.labels[i].resize(count);
    if (all.info.is_encoded()) {
      file.read_encoded(split, all.bytes[i], all.places[i], all.labels[i]);
    }
    all.images[i].resize(count * all.info.shape.pixels());
    file.read(split, 0, all.images[i], all.labels[i]);
  }
  return all;
}

std::uint64_t number_at(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void put_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 255);
}

std::string with_user_block(std::string bytes) {
  const std::uint64_t table = number_at(bytes, 96, 8);
  const std::string digest = sha256_hex(std::string_view(bytes).substr(bytes.size() - table));
  return bytes.replace(0, 512, data::encode_user_block({bytes.size() - 512, digest, 2, table}));
}

std::string resealed(std::string bytes) {
  constexpr std::size_t kEntry = 88;
  const std::size_t table_at = bytes.size() - number_at(bytes, 96, 8);
  for (std::size_t at = table_at + 24; at < bytes.size(); at += kEntry) {
    const std::string_view block =
        std::string_view(bytes).substr(number_at(bytes, at, 8), number_at(bytes, at + 8, 8));
    bytes.replace(at + 24, 64, sha256_hex(block));
  }
  return with_user_block(std::move(bytes));
}

}  // namespace tandem::testing
