// The draws of torchvision's ColorJitter, RandAugment and TrivialAugmentWide.
#pragma once

#include <vector>

#include "picture_ops.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/augment.hpp"

namespace tandem::data {

// Up to four operations, in a random order.
std::vector<PictureOp> draw_jitter(const ColorJitter& spec, CounterRandom& random);

// The operations of rand_augment or trivial_augment; none if the spec has neither.
std::vector<PictureOp> draw_policy(const AugmentSpec& spec, ImageShape shape,
                                   CounterRandom& random);

// Operations of the policies, in torchvision's order; 0 is none.
constexpr int kPolicyOps = 14;
// Operation `index` at a magnitude in [0, kMaxMagnitude]. `is_negative` affects the operations that
// have a sign. `is_wide`: with TrivialAugmentWide's ranges. Empty for operation 0.
std::vector<PictureOp> policy_op(int index, int magnitude, bool is_negative, bool is_wide,
                                 ImageShape shape);

}  // namespace tandem::data
