// Turns a stored uint8 image into the floats of the network's input: crop, flip, normalization,
// memory layout. Const use is thread-safe. Throws UsageError for an augmentation it cannot parse.
//
// The random numbers of an image are a pure function of (seed, epoch, image), so pixels do not
// depend on ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

enum class Border { kBlack, kReflected };         // what lies outside of an image
enum class Flip { kNever, kRandom, kAlternate };  // left to right

struct AugmentSpec {
  int most_shift = 0;  // random crop from the image with so many pixels of border; 0: none
  Border border = Border::kBlack;
  // kRandom: with probability 1/2 in each epoch; kAlternate: in every other epoch, half of the
  // images in the even ones (Jordan, arXiv 2404.00498).
  Flip flip = Flip::kNever;

  // "none", "standard" (crop=4,flip), or a list of "crop=N" or "reflect=N" (N from 1 to 16; black
  // or reflected border) and "flip" or "alternate-flip".
  static AugmentSpec parse(const std::string& text);
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
