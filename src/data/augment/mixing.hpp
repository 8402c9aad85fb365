// mixup (Zhang et al., arXiv 1710.09412) and CutMix (Yun et al., arXiv 1905.04899) of normalized
// images, as torchvision's MixUp and CutMix have them.
#pragma once

#include <cstdint>

#include "regions.hpp"

namespace tandem::data {

// How each image of a group is mixed with its partner.
struct Mix {
  bool pastes = false;  // CutMix: the partner's pixels of `region` replace the image's
  float own = 1;        // share of the image's own label, and with mixup of its pixels; in [0, 1]
  Region region;
};

// `spec` mixes; `group`: the image that names the group in its epoch.
Mix draw_mix(const AugmentSpec& spec, ImageShape shape, std::uint64_t seed, std::uint64_t epoch,
             std::uint32_t group);
// CutMix for a number of its distribution and a center of the region.
Mix mix_by_region(ImageShape shape, double lambda, int center_y, int center_x);

// Both are of `shape` in `layout`.
void mix_image(const Mix& mix, ImageShape shape, Layout layout, const float* partner, float* image);

// A number from the distribution Beta(alpha, alpha).
double draw_beta(double alpha, CounterRandom& random);

}  // namespace tandem::data
