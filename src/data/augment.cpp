#include "tandem/data/augment.hpp"

#include <algorithm>
#include <cstddef>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {
constexpr std::uint64_t kAugmentStream =
    0x61756731;  // keeps these numbers apart from the permutation's
constexpr std::uint64_t kAlternateStream = 0x616c7431;
constexpr int kStandardShift = 4;
constexpr int kMaxShift = 16;

[[noreturn]] void refuse_second(bool is_same, const std::string& both, const std::string& word) {
  throw UsageError(
      "--augment: " + (is_same ? word + " is given twice" : both + " exclude each other") +
      "; leave one of them out");
}

}  // namespace

AugmentSpec AugmentSpec::parse(const std::string& text) {
  AugmentSpec spec;
  if (text == "none") return spec;
  if (text == "standard") return {kStandardShift, Border::kBlack, Flip::kRandom};
  const auto shift = [&spec](const std::string& part, const std::string& word, Border kind) {
    if (part.rfind(word + "=", 0) != 0) return false;
    if (spec.most_shift > 0) refuse_second(spec.border == kind, "crop and reflect", word);
    spec.most_shift = static_cast<int>(
        parse_integer(part.substr(word.size() + 1), 1, kMaxShift, "--augment " + word));
    spec.border = kind;
    return true;
  };
  const auto flip = [&spec](const std::string& part, const std::string& word, Flip kind) {
    if (part != word) return false;
    if (spec.flip != Flip::kNever)
      refuse_second(spec.flip == kind, "flip and alternate-flip", word);
    spec.flip = kind;
    return true;
  };
  for (const std::string& part : split(text, ',')) {
    const bool is_known =
        shift(part, "crop", Border::kBlack) || shift(part, "reflect", Border::kReflected) ||
        flip(part, "flip", Flip::kRandom) || flip(part, "alternate-flip", Flip::kAlternate);
    if (!is_known) {
      throw UsageError("--augment: '" + part +
                       "' is not known; use none, standard, or a list of crop=N or reflect=N and "
                       "flip or alternate-flip, such as crop=4,flip");
    }
  }
  return spec;
}

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
  const int height = shape_.height;
  const int width = shape_.width;
  // Pixels in a row, and the distance between its pixels in `out`.
  const std::ptrdiff_t line = width;
  const std::ptrdiff_t step = layout_ == Layout::kPlanar ? 1 : shape_.channels;
  const bool reflects = augmentation.border == Border::kReflected;
  // Output columns [first, last) come from the image, the others are outside of it.
  const int first = std::clamp(-augmentation.shift_x, 0, width);
  const int last = std::clamp(width - augmentation.shift_x, first, width);
  for (int channel = 0; channel < shape_.channels; ++channel) {
    const auto& value_of = value_of_[static_cast<std::size_t>(channel)];
    for (int y = 0; y < height; ++y) {
      const int row = channel * height + y;
      float* to = layout_ == Layout::kPlanar ? out + row * line : out + y * line * step + channel;
      const int shifted_y = y + augmentation.shift_y;
      const int source_y = reflects ? reflected(shifted_y, height) : shifted_y;
      const bool black_row = source_y < 0 || source_y >= height;
      const std::uint8_t* from = image + (channel * height + (black_row ? 0 : source_y)) * line;
      const int begin = black_row ? width : first;
      const int end = black_row ? width : last;
      const auto outside = [&](int x) {
        return value_of[reflects ? from[reflected(x + augmentation.shift_x, width)] : 0];
      };
      // A flip writes the cropped row from its right end.
      const std::ptrdiff_t direction = augmentation.flip ? -step : step;
      float* at = augmentation.flip ? to + (width - 1) * step : to;
      for (int x = 0; x < begin; ++x) at[x * direction] = outside(x);
      for (int x = begin; x < end; ++x)
        at[x * direction] = value_of[from[x + augmentation.shift_x]];
      for (int x = end; x < width; ++x) at[x * direction] = outside(x);
    }
  }
}

}  // namespace tandem::data
