#include "tandem/data/fit_picture.hpp"

#include <new>
#include <string>
#include <utility>

#include "picture_decoder.hpp"
#include "resize.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

constexpr unsigned kWhite = 255;

// ITU-R 601's weights of red, green and blue, in 65536ths as Pillow has them.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >>
                                   16);
}

std::uint8_t on_white(unsigned value, unsigned alpha) {
  return static_cast<std::uint8_t>((value * alpha + kWhite * (255 - alpha) + 127) / 255);
}

// In place: what is written lies before what is still to be read.
void drop_alpha(Picture& picture) {
  if (picture.channels % 2 != 0) return;
  const auto kept = static_cast<std::size_t>(picture.channels - 1);
  std::uint8_t* to = picture.values.data();
  const std::uint8_t* end = to + picture.values.size();
  for (const std::uint8_t* from = to; from != end; from += kept + 1) {
    const unsigned alpha = from[kept];
    for (std::size_t c = 0; c < kept; ++c) *to++ = on_white(from[c], alpha);
  }
  picture.values.resize(static_cast<std::size_t>(to - picture.values.data()));
  picture.channels = static_cast<int>(kept);
}

void to_gray(Picture& picture) {
  if (picture.channels == 1) return;
  const std::size_t pixels = picture.values.size() / 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    picture.values[i] = luma(picture.values.data() + 3 * i);
  }
  picture.values.resize(pixels);
  picture.channels = 1;
}

}  // namespace

void require_picture_channels(int channels) {
  if (channels == 1 || channels == 3) return;
  throw UsageError("images of " + std::to_string(channels) +
                   " channels cannot be made of PNG and JPEG files, 1 (grey) or 3 (colour) is "
                   "expected");
}

void fit_picture(Picture picture, ImageShape shape, std::uint8_t* image) {
  require_picture_channels(shape.channels);
  drop_alpha(picture);
  if (shape.channels == 1) to_gray(picture);
  picture = resize(std::move(picture), shape.height, shape.width);
  // Gray is every color of a gray picture.
  const auto step = static_cast<std::size_t>(picture.channels);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    const std::uint8_t* from = picture.values.data() + (step == 1 ? 0 : c);
    for (std::size_t i = 0; i < shape.plane(); ++i) *image++ = from[i * step];
  }
}

void fit_file(std::string_view bytes, const std::string& where, ImageShape shape,
              MemoryBudget& budget, std::uint8_t* image) try {
  MemoryBudget::Share share(budget);
  fit_picture(decode_picture(bytes, where, kMaxPicturePixels,
                             [&](std::uint64_t memory) { share.take(memory); }),
              shape, image);
} catch (const std::bad_alloc&) {
  throw_out_of_memory(where);
}

}  // namespace tandem::data
