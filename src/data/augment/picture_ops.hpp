// The operations on bytes of torchvision's ColorJitter, RandAugment and TrivialAugmentWide
// (torchvision.transforms.v2.functional on uint8 tensors), in place. One thread per object, which
// keeps memory for the next picture.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

enum class PictureOpKind {
  kBrightness,  // adjust_brightness; `amount`: the factor, also of the next three and of sharpness
  kContrast,    // adjust_contrast
  kSaturation,  // adjust_saturation
  kHue,         // adjust_hue; turns of the color circle, in [-0.5, 0.5]
  kSharpness,   // adjust_sharpness
  kPosterize,   // posterize; bits, in [0, 8]
  kSolarize,    // solarize; the threshold
  kAutoContrast,  // autocontrast
  kEqualize,      // equalize
  kShearX,        // affine with nearest neighbors and black outside; tangent of the angle
  kShearY,
  kTranslateX,  // pixels to the right
  kTranslateY,  // pixels down
  kRotate       // rotate, likewise; degrees counterclockwise
};

struct PictureOp {
  PictureOpKind kind = PictureOpKind::kBrightness;
  double amount = 0;
};

class PictureOps {
 public:
  explicit PictureOps(ImageShape shape) : shape_(shape) {}

  // `pixels`: planar bytes of the shape, of 1 or 3 channels.
  void apply(const PictureOp& op, std::uint8_t* pixels);

 private:
  using Table = std::array<std::uint8_t, 256>;
  void replace(const Table& table, std::uint8_t* first, std::size_t count) const;
  void scale_brightness(float factor, std::uint8_t* pixels) const;
  void scale_contrast(float factor, std::uint8_t* pixels) const;
  void sharpen(float factor, std::uint8_t* pixels);
  void posterize(int bits, std::uint8_t* pixels) const;
  void solarize(float threshold, std::uint8_t* pixels) const;
  void stretch_contrast(std::uint8_t* plane) const;
  void equalize(std::uint8_t* plane) const;
  void move(const PictureOp& op, std::uint8_t* pixels);

  const ImageShape shape_;
  std::vector<std::uint8_t> plane_;
};

}  // namespace tandem::data
