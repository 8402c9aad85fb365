// The built-in data set: ten classes of drawn shapes on 3x32x32 pixels, with random colors,
// position, size, slant, rotation, an occluding bar and noise. Throws UsageError for an impossible
// number of images.
//
// An image is a pure function of (seed, split, index), the same bits on every machine: only
// integers and correctly rounded operations (+ - * /) draw it. Image i shows class i modulo 10.
#pragma once

#include <cstdint>
#include <memory>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

constexpr std::uint64_t kDefaultSyntheticImages = 20'000;

// `images` training images, at most 10 million, and a fifth as many test images, at least 64.
std::unique_ptr<ImageSource> make_synthetic(std::uint64_t images, std::uint64_t seed);

}  // namespace tandem::data
