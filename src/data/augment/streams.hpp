// The first parts of the keys of random numbers, one for each kind of augmentation. A new kind thus
// changes no number of another.
#pragma once

#include <cstdint>

namespace tandem::data {

constexpr std::uint64_t kAugmentStream = 0x61756731;
constexpr std::uint64_t kAlternateStream = 0x616c7431;
constexpr std::uint64_t kResizedCropStream = 0x72637270;
constexpr std::uint64_t kColorJitterStream = 0x636a6974;
constexpr std::uint64_t kPolicyStream = 0x706f6c31;
constexpr std::uint64_t kErasingStream = 0x65726173;
constexpr std::uint64_t kMixingStream = 0x6d697831;

}  // namespace tandem::data
