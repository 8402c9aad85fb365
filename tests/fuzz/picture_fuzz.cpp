// A PNG or JPEG file, and the image that is made of it.
#include <zlib.h>

#include <cstring>
#include <string>
#include <vector>

#include "data/pictures/picture_region.hpp"
#include "input.hpp"
#include "tandem/data/fit_picture.hpp"
#include "target.hpp"

using namespace tandem;

namespace {

// Larger pictures only take longer.
constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 16;
constexpr std::size_t kSignature = 8;  // bytes before the first chunk
constexpr std::size_t kFrame = 12;     // a chunk's length, name and checksum

std::size_t big_endian(const std::string& bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// From chunk to chunk, as far as they can be followed.
void make_checksums_right(std::string& png) {
  std::size_t at = kSignature;
  while (at + kFrame <= png.size()) {
    const std::size_t length = big_endian(png, at);
    if (length > png.size() - at - kFrame) return;
    const std::size_t end = at + 8 + length;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data()) + at + 4,
                           static_cast<uInt>(length + 4));
    for (unsigned i = 0; i < 4; ++i) png[end + i] = static_cast<char>(sum >> (24 - 8 * i));
    at = end + 4;
  }
}

bool is_proven(const std::string& file) try {
  data::prove_decodable(file, "picture", kMaxPixels);
  return true;
} catch (const DataError&) {
  return false;
}

void read(const std::string& file) {
  const bool proven = is_proven(file);
  data::Picture picture;
  try {
    picture = data::decode_picture(file, "picture", kMaxPixels);
  } catch (const DataError&) {
    fuzz::require(!proven, "a picture that passes the check can be decoded");
    throw;
  }
  fuzz::require(proven, "a picture that can be decoded passes the check");
  const auto pixels =
      static_cast<std::uint64_t>(picture.height) * static_cast<std::uint64_t>(picture.width);
  fuzz::require(pixels >= 1 && pixels <= kMaxPixels, "no picture is larger than allowed");
  fuzz::require(picture.channels >= 1 && picture.channels <= 4, "1 to 4 channels");
  fuzz::require(picture.values.size() == pixels * static_cast<std::uint64_t>(picture.channels),
                "every value is there");
  fuzz::require(picture.orientation >= 1 && picture.orientation <= 8, "one of eight orientations");
  const data::Picture turned = data::upright(picture);
  fuzz::require(turned.orientation == 1 && turned.values.size() == picture.values.size() &&
                    turned.height == (picture.orientation < 5 ? picture.height : picture.width),
                "an upright picture has the same values");
  for (const data::ImageShape shape : {data::ImageShape{3, 8, 9}, data::ImageShape{1, 40, 3}}) {
    std::vector<std::uint8_t> image(shape.pixels());
    data::fit_picture(picture, shape, image.data());
    data::RegionResizer resizer;
    const auto middle = [](int height, int width) {
      return data::Region{height / 3, width / 3, (height + 2) / 3, (width + 2) / 3};
    };
    for (const auto decoding : {data::Decoding::kExact, data::Decoding::kScaled}) {
      data::make_region({file, "picture"}, middle, decoding, shape, resizer, image.data());
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::as_text(data, size);
  const unsigned flags = fuzz::take_flags(rest);
  std::string file = flags & fuzz::kZeroRuns ? fuzz::expand_zero_runs(rest) : std::string(rest);
  if (flags & fuzz::kChecksums) make_checksums_right(file);
  fuzz::read_or_refuse([&file] { read(file); });
  return 0;
}
