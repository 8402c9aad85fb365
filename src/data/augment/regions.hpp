// The regions of torchvision's RandomResizedCrop and RandomErasing, by the same draws.
#pragma once

#include <optional>

#include "tandem/core/random.hpp"
#include "tandem/data/augment.hpp"

namespace tandem::data {

struct Region {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

// Its area is uniform in [least_area, 1] of the image's, and the logarithm of its aspect ratio is
// uniform. If ten regions do not fit, it is the largest central region of an allowed ratio.
Region draw_crop(const ResizedCrop& spec, int height, int width, CounterRandom& random);

// Absent with probability 1 - `probability`, and if ten regions did not fit. Its area is uniform in
// [0.02, 0.33] of the image's. The logarithm of its aspect ratio is uniform between those of 0.3
// and 3.3.
std::optional<Region> draw_erasing(double probability, int height, int width,
                                   CounterRandom& random);

// Makes a region 0 in every channel of a normalized image, as RandomErasing's value=0 does.
void erase(const Region& region, ImageShape shape, Layout layout, float* image);
// Copies a region of one normalized image to the same place of another.
void copy_region(const Region& region, ImageShape shape, Layout layout, const float* from,
                 float* to);

}  // namespace tandem::data
