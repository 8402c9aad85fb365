#include "image_maker.hpp"

#include <array>
#include <string>

#include "data/augment/move_pixels.hpp"
#include "data/augment/policies.hpp"
#include "data/augment/streams.hpp"
#include "data/pictures/picture_region.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

constexpr std::array<std::uint8_t, 256> each_byte() {
  std::array<std::uint8_t, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}
constexpr std::array<std::uint8_t, 256> kSame = each_byte();

}  // namespace

ImageMaker::ImageMaker(const ImagesView& view, const Transform& transform,
                       const AugmentKey& augment)
    : view_(view), transform_(transform), augment_(augment), ops_(view.shape) {
  if (augment_.spec.resized_crop) resized_.resize(view.shape.pixels());
  if (augment_.spec.changes_pixels()) changed_.resize(view.shape.pixels());
}

// The region of a picture file is drawn in the whole picture, as torchvision does.
const std::uint8_t* ImageMaker::resized(std::uint64_t epoch, std::uint32_t image) {
  const ImageShape& shape = view_.shape;
  const auto choose = [&](int height, int width) {
    CounterRandom random{kResizedCropStream, augment_.seed, epoch, image};
    return draw_crop(*augment_.spec.resized_crop, height, width, random);
  };
  if (view_.is_encoded()) {
    make_region(pixels_of_.file(image), choose, augment_.decoding, shape, resizer_,
                resized_.data());
  } else {
    resizer_.resize(pixels_of_(image), shape, choose(shape.height, shape.width), shape,
                    resized_.data());
  }
  return resized_.data();
}

// In changed_, in place.
void ImageMaker::change(std::uint64_t epoch, std::uint32_t image) {
  const AugmentSpec& spec = augment_.spec;
  if (spec.color_jitter) {
    CounterRandom random{kColorJitterStream, augment_.seed, epoch, image};
    for (const PictureOp& op : draw_jitter(*spec.color_jitter, random)) {
      ops_.apply(op, changed_.data());
    }
  }
  CounterRandom random{kPolicyStream, augment_.seed, epoch, image};
  for (const PictureOp& op : draw_policy(spec, view_.shape, random)) {
    ops_.apply(op, changed_.data());
  }
}

void ImageMaker::make(std::uint64_t epoch, std::uint32_t image, float* out) {
  if (image >= view_.labels.size()) {
    throw InternalError("image " + std::to_string(image) + " was asked for, the data set has " +
                        std::to_string(view_.labels.size()));
  }
  const AugmentSpec& spec = augment_.spec;
  const ImageShape& shape = view_.shape;
  const std::uint8_t* pixels = spec.resized_crop ? resized(epoch, image) : pixels_of_(image);
  Augmentation moved = draw_augmentation(spec, augment_.seed, epoch, image);
  if (spec.changes_pixels()) {
    move_pixels(
        pixels, shape, moved, Layout::kPlanar, [](int) { return kSame.data(); }, changed_.data());
    change(epoch, image);
    pixels = changed_.data();
    moved = {};
  }
  transform_.apply(pixels, moved, out);
  if (spec.erasing == 0) return;
  CounterRandom random{kErasingStream, augment_.seed, epoch, image};
  const auto region = draw_erasing(spec.erasing, shape.height, shape.width, random);
  if (region) erase(*region, shape, transform_.layout(), out);
}

}  // namespace tandem::data
