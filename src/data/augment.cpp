#include "tandem/data/augment.hpp"

#include <algorithm>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {
constexpr std::uint64_t kAugmentStream =
    0x61756731;  // keeps these numbers apart from the permutation's
constexpr int kStandardPadding = 4;
constexpr int kMaxPadding = 16;
}  // namespace

AugmentSpec AugmentSpec::parse(const std::string& text) {
  AugmentSpec spec;
  if (text == "none") return spec;
  if (text == "standard") return {kStandardPadding, true};
  for (const std::string& part : split(text, ',')) {
    if (part == "flip") {
      spec.flip = true;
    } else if (part.rfind("crop=", 0) == 0) {
      spec.crop_padding =
          static_cast<int>(parse_integer(part.substr(5), 1, kMaxPadding, "--augment crop"));
    } else {
      throw UsageError("--augment: '" + part +
                       "' is not known; use none, standard, or a list of crop=N and flip, such as "
                       "crop=4,flip");
    }
  }
  return spec;
}

Augmentation draw_augmentation(const AugmentSpec& spec, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t image) {
  Augmentation drawn;
  CounterRandom random{kAugmentStream, seed, epoch, image};
  if (spec.crop_padding > 0) {
    const auto places = static_cast<std::uint32_t>(2 * spec.crop_padding + 1);
    drawn.shift_y = static_cast<int>(random.below(places)) - spec.crop_padding;
    drawn.shift_x = static_cast<int>(random.below(places)) - spec.crop_padding;
  }
  if (spec.flip) drawn.flip = random.below(2) == 1;
  return drawn;
}

std::vector<Normalisation> normalisation_of(const std::vector<double>& mean,
                                            const std::vector<double>& std) {
  std::vector<Normalisation> channels;
  for (std::size_t channel = 0; channel < std.size(); ++channel) {
    channels.push_back({static_cast<float>(1 / (255 * std[channel])),
                        static_cast<float>(mean[channel] / std[channel])});
  }
  return channels;
}

Transform::Transform(ImageShape shape, Layout layout, const std::vector<double>& mean,
                     const std::vector<double>& std)
    : shape_(shape), layout_(layout), value_of_(static_cast<std::size_t>(shape.channels)) {
  const std::vector<Normalisation> channels = normalisation_of(mean, std);
  for (std::size_t channel = 0; channel < value_of_.size(); ++channel) {
    const auto [scale, offset] = channels.at(channel);
    for (int pixel = 0; pixel < 256; ++pixel) {
      value_of_[channel][static_cast<std::size_t>(pixel)] =
          static_cast<float>(pixel) * scale - offset;
    }
  }
}

void Transform::apply(const std::uint8_t* image, Augmentation augmentation, float* out) const {
  const int height = shape_.height;
  const int width = shape_.width;
  const int step = layout_ == Layout::kPlanar ? 1 : shape_.channels;  // between pixels of a row
  // Output columns [first, last) come from the image, the others are black.
  const int first = std::clamp(-augmentation.shift_x, 0, width);
  const int last = std::clamp(width - augmentation.shift_x, first, width);
  for (int channel = 0; channel < shape_.channels; ++channel) {
    const auto& value_of = value_of_[static_cast<std::size_t>(channel)];
    for (int y = 0; y < height; ++y) {
      const int row = channel * height + y;
      float* to = layout_ == Layout::kPlanar ? out + row * width : out + y * width * step + channel;
      const int source_y = y + augmentation.shift_y;
      const bool black_row = source_y < 0 || source_y >= height;
      const std::uint8_t* from = image + (channel * height + (black_row ? 0 : source_y)) * width;
      const int begin = black_row ? width : first;
      const int end = black_row ? width : last;
      // A flip writes the cropped row from its right end.
      const int direction = augmentation.flip ? -step : step;
      float* at = augmentation.flip ? to + (width - 1) * step : to;
      for (int x = 0; x < begin; ++x) at[x * direction] = value_of[0];
      for (int x = begin; x < end; ++x)
        at[x * direction] = value_of[from[x + augmentation.shift_x]];
      for (int x = end; x < width; ++x) at[x * direction] = value_of[0];
    }
  }
}

}  // namespace tandem::data
