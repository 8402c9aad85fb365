#include "regions.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::data {
namespace {

constexpr int kTries = 10;
constexpr double kLeastErased = 0.02;
constexpr double kMostErased = 0.33;
constexpr double kLeastErasedRatio = 0.3;
constexpr double kMostErasedRatio = 3.3;

double between(double lowest, double highest, CounterRandom& random) {
  return lowest + (highest - lowest) * random.uniform();
}

// As Python's round().
int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

int place_below(int end, CounterRandom& random) {
  return static_cast<int>(random.below(static_cast<std::uint32_t>(end)));
}

// Calls `on_run` with the place of the first value and the number of values of each run of values
// that lie side by side.
template <typename OnRun>
void for_each_run(const Region& region, ImageShape shape, Layout layout, const OnRun& on_run) {
  const bool is_planar = layout == Layout::kPlanar;
  const int planes = is_planar ? shape.channels : 1;
  const std::size_t step = is_planar ? 1 : static_cast<std::size_t>(shape.channels);
  for (int plane = 0; plane < planes; ++plane) {
    for (int y = region.top; y < region.top + region.height; ++y) {
      const std::size_t row =
          static_cast<std::size_t>(plane) * static_cast<std::size_t>(shape.height) +
          static_cast<std::size_t>(y);
      const std::size_t pixel = row * static_cast<std::size_t>(shape.width);
      on_run((pixel + static_cast<std::size_t>(region.left)) * step,
             static_cast<std::size_t>(region.width) * step);
    }
  }
}

Region central(double ratio, int height, int width) {
  Region region{0, 0, height, width};
  const double own = static_cast<double>(width) / height;
  if (own < ratio) region.height = std::max(1, rounded(width / ratio));
  if (own > 1 / ratio) region.width = std::max(1, rounded(height / ratio));
  region.top = (height - region.height) / 2;
  region.left = (width - region.width) / 2;
  return region;
}

}  // namespace

Region draw_crop(const ResizedCrop& spec, int height, int width, CounterRandom& random) {
  const double area = static_cast<double>(height) * width;
  const double log_ratio = std::log(spec.least_ratio);
  for (int i = 0; i < kTries; ++i) {
    const double own_area = area * between(spec.least_area, 1, random);
    const double ratio = std::exp(between(log_ratio, -log_ratio, random));
    Region region;
    region.width = rounded(std::sqrt(own_area * ratio));
    region.height = rounded(std::sqrt(own_area / ratio));
    if (region.width < 1 || region.width > width) continue;
    if (region.height < 1 || region.height > height) continue;
    region.top = place_below(height - region.height + 1, random);
    region.left = place_below(width - region.width + 1, random);
    return region;
  }
  return central(spec.least_ratio, height, width);
}

std::optional<Region> draw_erasing(double probability, int height, int width,
                                   CounterRandom& random) {
  if (random.uniform() >= probability) return std::nullopt;
  const double area = static_cast<double>(height) * width;
  for (int i = 0; i < kTries; ++i) {
    const double own_area = area * between(kLeastErased, kMostErased, random);
    const double ratio =
        std::exp(between(std::log(kLeastErasedRatio), std::log(kMostErasedRatio), random));
    Region region;
    region.height = rounded(std::sqrt(own_area * ratio));
    region.width = rounded(std::sqrt(own_area / ratio));
    if (region.height >= height || region.width >= width) continue;
    region.top = place_below(height - region.height + 1, random);
    region.left = place_below(width - region.width + 1, random);
    return region;
  }
  return std::nullopt;
}

void erase(const Region& region, ImageShape shape, Layout layout, float* image) {
  for_each_run(region, shape, layout, [image](std::size_t first, std::size_t count) {
    std::fill_n(image + first, count, 0.0F);
  });
}

void copy_region(const Region& region, ImageShape shape, Layout layout, const float* from,
                 float* to) {
  for_each_run(region, shape, layout, [from, to](std::size_t first, std::size_t count) {
    std::copy_n(from + first, count, to + first);
  });
}

}  // namespace tandem::data
