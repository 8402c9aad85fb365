// What: a part of a training set that is not trained on, in the memory of the set.
// Owns: nothing. Threads: one at a time. Throws: UsageError where no class has an image to give.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"

namespace tandem::data {

// Moves a share of each class, in (0, 1), behind the others, which keep their order, as do those
// that are moved; returns how many. The choice is a function of labels and share alone: no seed, so
// that runs with different ones are held to the same images. images: labels.size() times `pixels`.
std::uint64_t hold_out(double share, std::size_t pixels, Span<std::uint8_t> images,
                       Span<std::uint8_t> labels, const std::string& where,
                       const Touch& touch = {});

}  // namespace tandem::data
