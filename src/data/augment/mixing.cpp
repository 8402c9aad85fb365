#include "mixing.hpp"

#include <algorithm>
#include <cmath>

#include "streams.hpp"

namespace tandem::data {
namespace {

// Shares are whole multiples of 2^-16. They are exact as floats, and the last bits of log() and
// pow(), in which hosts may differ, have no effect.
constexpr double kShares = 65536;

// A number from the distribution Gamma(shape, 1), shape >= 1 (Marsaglia and Tsang, A
// Simple Method for Generating Gamma Variables, 2000).
double draw_gamma(double shape, CounterRandom& random) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

// For alpha <= 1 by Johnk's algorithm, as NumPy does it.
double draw_beta(double alpha, CounterRandom& random) {
  if (alpha > 1) {
    const double x = draw_gamma(alpha, random);
    return x / (x + draw_gamma(alpha, random));
  }
  for (;;) {
    const double log_x = std::log(1 - random.uniform()) / alpha;
    const double log_y = std::log(1 - random.uniform()) / alpha;
    if (std::exp(log_x) + std::exp(log_y) > 1) continue;
    // x / (x + y); for small alpha both may be too small for a double.
    return 1 / (1 + std::exp(log_y - log_x));
  }
}

Mix mix_by_region(ImageShape shape, double lambda, int center_y, int center_x) {
  const double half = 0.5 * std::sqrt(1 - lambda);
  const int half_width = static_cast<int>(half * shape.width);
  const int half_height = static_cast<int>(half * shape.height);
  Mix mix;
  mix.pastes = true;
  mix.region.top = std::max(center_y - half_height, 0);
  mix.region.left = std::max(center_x - half_width, 0);
  mix.region.height = std::min(center_y + half_height, shape.height) - mix.region.top;
  mix.region.width = std::min(center_x + half_width, shape.width) - mix.region.left;
  const double area = static_cast<double>(mix.region.height) * mix.region.width;
  mix.own = static_cast<float>(1 - area / static_cast<double>(shape.plane()));
  return mix;
}

Mix draw_mix(const AugmentSpec& spec, ImageShape shape, std::uint64_t seed, std::uint64_t epoch,
             std::uint32_t group) {
  CounterRandom random{kMixingStream, seed, epoch, group};
  const bool has_both = spec.mixup > 0 && spec.cutmix > 0;
  const bool pastes = has_both ? random.below(2) == 1 : spec.cutmix > 0;
  const double drawn = draw_beta(pastes ? spec.cutmix : spec.mixup, random);
  const double lambda = std::round(drawn * kShares) / kShares;
  if (pastes) {
    const auto y = static_cast<int>(random.below(static_cast<std::uint32_t>(shape.height)));
    const auto x = static_cast<int>(random.below(static_cast<std::uint32_t>(shape.width)));
    return mix_by_region(shape, lambda, y, x);
  }
  Mix mix;
  mix.own = static_cast<float>(lambda);
  return mix;
}

void mix_image(const Mix& mix, ImageShape shape, Layout layout, const float* partner,
               float* image) {
  if (!mix.pastes) {
    const float own = mix.own;
    const float other = 1 - own;
    const std::size_t count = shape.pixels();
    for (std::size_t i = 0; i < count; ++i) image[i] = image[i] * own + partner[i] * other;
    return;
  }
  copy_region(mix.region, shape, layout, partner, image);
}

}  // namespace tandem::data
