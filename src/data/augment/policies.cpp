#include "policies.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::data {
namespace {

// torch.linspace(begin, end, kMaxMagnitude + 1)[index], with its roundings.
double level(double begin, double end, int index) {
  constexpr int kLevels = kMaxMagnitude + 1;
  const auto first = static_cast<float>(begin);
  const auto last = static_cast<float>(end);
  const float step = (last - first) / static_cast<float>(kLevels - 1);
  return index < kLevels / 2 ? first + step * static_cast<float>(index)
                             : last - step * static_cast<float>(kLevels - index - 1);
}

// The largest amounts of RandAugment and of TrivialAugmentWide.
struct Most {
  double shear, rotation, color, posterized_bits;
};
constexpr Most kMostOfRand{0.3, 30, 0.9, 4};
constexpr Most kMostOfTrivial{0.99, 135, 0.99, 6};
constexpr double kTranslatedShare = 150.0 / 331;  // of the picture, by RandAugment
constexpr double kTranslatedPixels = 32;          // by TrivialAugmentWide

}  // namespace

std::vector<PictureOp> draw_jitter(const ColorJitter& spec, CounterRandom& random) {
  std::vector<PictureOp> ops;
  const auto draw = [&](PictureOpKind kind, double lowest, double highest) {
    ops.push_back({kind, lowest + (highest - lowest) * random.uniform()});
  };
  const auto draw_factor = [&](PictureOpKind kind, double most) {
    if (most > 0) draw(kind, std::max(0.0, 1 - most), 1 + most);
  };
  draw_factor(PictureOpKind::kBrightness, spec.brightness);
  draw_factor(PictureOpKind::kContrast, spec.contrast);
  draw_factor(PictureOpKind::kSaturation, spec.saturation);
  if (spec.hue > 0) draw(PictureOpKind::kHue, -spec.hue, spec.hue);
  for (std::size_t left = ops.size(); left > 1; --left) {  // Fisher-Yates
    std::swap(ops[left - 1], ops[random.below(static_cast<std::uint32_t>(left))]);
  }
  return ops;
}

std::vector<PictureOp> policy_op(int index, int magnitude, bool is_negative, bool is_wide,
                                 ImageShape shape) {
  const Most& most = is_wide ? kMostOfTrivial : kMostOfRand;
  const auto up_to = [&](double end) { return level(0, end, magnitude) * (is_negative ? -1 : 1); };
  const auto translated = [&](int size) {
    return std::trunc(up_to(is_wide ? kTranslatedPixels : kTranslatedShare * size));
  };
  switch (index) {
    case 1:
      return {{PictureOpKind::kShearX, up_to(most.shear)}};
    case 2:
      return {{PictureOpKind::kShearY, up_to(most.shear)}};
    case 3:
      return {{PictureOpKind::kTranslateX, translated(shape.width)}};
    case 4:
      return {{PictureOpKind::kTranslateY, translated(shape.height)}};
    case 5:
      return {{PictureOpKind::kRotate, up_to(most.rotation)}};
    case 6:
      return {{PictureOpKind::kBrightness, 1 + up_to(most.color)}};
    case 7:
      return {{PictureOpKind::kSaturation, 1 + up_to(most.color)}};
    case 8:
      return {{PictureOpKind::kContrast, 1 + up_to(most.color)}};
    case 9:
      return {{PictureOpKind::kSharpness, 1 + up_to(most.color)}};
    case 10:
      return {{PictureOpKind::kPosterize,
               std::nearbyint(8 - magnitude * most.posterized_bits / kMaxMagnitude)}};
    case 11:
      return {{PictureOpKind::kSolarize, 255 * level(1, 0, magnitude)}};
    case 12:
      return {{PictureOpKind::kAutoContrast, 0}};
    case 13:
      return {{PictureOpKind::kEqualize, 0}};
    default:
      return {};
  }
}

std::vector<PictureOp> draw_policy(const AugmentSpec& spec, ImageShape shape,
                                   CounterRandom& random) {
  std::vector<PictureOp> ops;
  const int count = spec.rand_augment ? spec.rand_augment->operations : spec.trivial_augment;
  for (int i = 0; i < count; ++i) {
    const int index = static_cast<int>(random.below(kPolicyOps));
    const int magnitude = spec.rand_augment ? spec.rand_augment->magnitude
                                            : static_cast<int>(random.below(kMaxMagnitude + 1));
    const bool is_negative = random.below(2) == 1;
    for (const PictureOp& op :
         policy_op(index, magnitude, is_negative, spec.trivial_augment, shape)) {
      ops.push_back(op);
    }
  }
  return ops;
}

}  // namespace tandem::data
