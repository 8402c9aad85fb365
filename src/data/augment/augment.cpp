#include "tandem/data/augment.hpp"

#include <cstddef>

#include "move_pixels.hpp"
#include "streams.hpp"
#include "tandem/core/random.hpp"

namespace tandem::data {

Augmentation draw_augmentation(const AugmentSpec& spec, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t image) {
  Augmentation drawn;
  drawn.border = spec.border;
  CounterRandom random{kAugmentStream, seed, epoch, image};
  if (spec.most_shift > 0) {
    const auto places = static_cast<std::uint32_t>(2 * spec.most_shift + 1);
    drawn.shift_y = static_cast<int>(random.below(places)) - spec.most_shift;
    drawn.shift_x = static_cast<int>(random.below(places)) - spec.most_shift;
  }
  if (spec.flip == Flip::kRandom) drawn.flip = random.below(2) == 1;
  if (spec.flip == Flip::kAlternate) {
    CounterRandom once{kAlternateStream, seed, image};
    drawn.flip = (once.below(2) + epoch) % 2 == 1;
  }
  return drawn;
}

int reflected(int place, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  const int within = (place % period + period) % period;
  return within < size ? within : period - within;
}

std::vector<Normalization> normalization_of(const std::vector<double>& mean,
                                            const std::vector<double>& std) {
  std::vector<Normalization> channels;
  for (std::size_t channel = 0; channel < std.size(); ++channel) {
    channels.push_back({static_cast<float>(1 / (255 * std[channel])),
                        static_cast<float>(mean[channel] / std[channel])});
  }
  return channels;
}

Transform::Transform(ImageShape shape, Layout layout, const std::vector<double>& mean,
                     const std::vector<double>& std)
    : shape_(shape), layout_(layout), value_of_(static_cast<std::size_t>(shape.channels)) {
  const std::vector<Normalization> channels = normalization_of(mean, std);
  for (std::size_t channel = 0; channel < value_of_.size(); ++channel) {
    const auto [scale, offset] = channels.at(channel);
    for (int pixel = 0; pixel < 256; ++pixel) {
      value_of_[channel][static_cast<std::size_t>(pixel)] =
          static_cast<float>(pixel) * scale - offset;
    }
  }
}

void Transform::apply(const std::uint8_t* image, Augmentation augmentation, float* out) const {
  move_pixels(
      image, shape_, augmentation, layout_,
      [this](int channel) { return value_of_[static_cast<std::size_t>(channel)].data(); }, out);
}

}  // namespace tandem::data
