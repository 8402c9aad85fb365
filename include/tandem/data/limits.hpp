// The largest data set that tandem writes and reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::data {

constexpr std::uint64_t kMaxImages = 10'000'000;  // of a split
constexpr std::uint64_t kMaxPixels = 1'000'000;   // of one image, C * H * W
constexpr std::size_t kMaxClasses = 1000;
// Of a channel, in [0, 1] units: one that never changes has nothing to learn from and cannot be
// normalized.
constexpr double kSmallestDeviation = 1e-6;

}  // namespace tandem::data
