// Turns a stored uint8 image into the floats of the network's input: augmentation, normalization,
// memory layout. Const use is thread-safe. Throws UsageError for an augmentation it cannot parse.
//
// The random numbers of an image are a pure function of (seed, epoch, image), so pixels do not
// depend on ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

// How picture files are decoded for training. kScaled: JPEG files at 1/2, 1/4 or 1/8 of
// their size, if at least as many pixels are left as the image needs. It is faster for large
// pictures, and pixels differ a little.
enum class Decoding { kExact, kScaled };

// How a picture file gets the shape of the network's images where it is not augmented.
enum class Fit {
  kStretch,  // the whole picture, without keeping its proportions
  // As torchvision evaluates ImageNet: Resize of the shorter side to 256 / 224 of the shape's side,
  // rounded down, and CenterCrop. For a shape that is not square, both sides reach 256 / 224 of the
  // shape's, and one of them may be longer.
  kCenterCrop
};

enum class Border { kBlack, kReflected };         // what lies outside of an image
enum class Flip { kNever, kRandom, kAlternate };  // left to right

// torchvision's RandomResizedCrop: a region with this share of the image's area or more, and an
// aspect ratio (width / height) between `least_ratio` and its inverse.
struct ResizedCrop {
  double least_area = 0.08;
  double least_ratio = 0.75;
};

// torchvision's ColorJitter: factors of brightness, contrast and saturation are between 1 - X and
// 1 + X, but not below 0; hue turns by up to X of the color circle.
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
};

// torchvision's RandAugment: this number of operations, each of this magnitude.
struct RandAugment {
  int operations = 2;
  int magnitude = 9;  // in [0, kMaxMagnitude]
};
constexpr int kMaxMagnitude = 30;

struct AugmentSpec {
  int most_shift = 0;  // random crop from the image with so many pixels of border; 0: none
  Border border = Border::kBlack;
  // kRandom: with probability 1/2 in each epoch; kAlternate: in every other epoch, half of the
  // images in the even ones (Jordan, arXiv 2404.00498).
  Flip flip = Flip::kNever;
  std::optional<ResizedCrop> resized_crop;  // in place of a crop by shifts
  std::optional<ColorJitter> color_jitter;
  std::optional<RandAugment> rand_augment;
  bool trivial_augment = false;  // torchvision's TrivialAugmentWide
  double erasing = 0;            // probability of torchvision's RandomErasing
  double mixup = 0;              // alpha of the Beta distribution; 0: none
  double cutmix = 0;             // the same; with both, each group of images draws one of them

  // "none", "standard" (crop=4,flip), or a list of words, some with numbers, as in
  // "resized-crop=0.25,flip,mixup=0.2". The order of the words has no effect.
  static AugmentSpec parse(const std::string& text);

  // Whether images are mixed in pairs, so that they have two labels.
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Whether the colors or the shapes in an image change after its crop and flip.
  bool changes_pixels() const { return color_jitter || rand_augment || trivial_augment; }
  // Throws UsageError if images of this shape have no colors to change.
  void require_shape(ImageShape shape) const;
  // Whether it has only a crop by shifts and a flip, the augmentation that devices do.
  bool is_crop_and_flip() const {
    return !resized_crop && !changes_pixels() && erasing == 0 && !mixes();
  }
};

// What happens to one image. Output pixel (y, x) is input pixel (y + shift_y, x' + shift_x), where
// x' is x, mirrored if `flip`. Outside it is black, or the pixel as far inside of the edge (as
// torch.nn.functional.pad's "reflect", which does not repeat the edge).
struct Augmentation {
  int shift_y = 0;  // in [-most_shift, most_shift]
  int shift_x = 0;
  bool flip = false;
  Border border = Border::kBlack;
};

// The row or column in [0, size) that stands for any `place`: reflected at each edge.
int reflected(int place, int size);

Augmentation draw_augmentation(const AugmentSpec& spec, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t image);

enum class Layout { kPlanar, kChannelsLast };  // [C,H,W] or [H,W,C] in memory

// A pixel's value is pixel * scale - offset, rounded after each.
struct Normalization {
  float scale;
  float offset;
};
// Per channel; mean and std in [0, 1] units of pixel / 255.
std::vector<Normalization> normalization_of(const std::vector<double>& mean,
                                            const std::vector<double>& std);

class Transform {
 public:
  // mean and std per channel, in [0, 1] units of pixel / 255.
  Transform(ImageShape shape, Layout layout, const std::vector<double>& mean,
            const std::vector<double>& std);

  // (pixel / 255 - mean) / std of every pixel of `image` (C*H*W bytes, planar) into `out` (as many
  // floats).
  void apply(const std::uint8_t* image, Augmentation augmentation, float* out) const;
  Layout layout() const { return layout_; }

 private:
  ImageShape shape_;
  Layout layout_;
  std::vector<std::array<float, 256>> value_of_;  // per channel
};

}  // namespace tandem::data
