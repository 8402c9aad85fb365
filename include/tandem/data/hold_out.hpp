// Holds out a share of a training set for validation, within the memory of the set. Throws
// UsageError if no class has an image to spare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

// Moves a share of each class, in (0, 1), to the end; both parts keep their order. Returns the
// number moved. The choice is a function of labels and share, without a seed, so that runs with
// different seeds use the same images. images: labels.size() times `pixels`.
std::uint64_t hold_out(double share, std::size_t pixels, Span<std::uint8_t> images,
                       Span<Label> labels, const std::string& where, const Touch& touch = {});

// Draws the share of each class by `seed`, to the nearest image: for each image whether it is
// taken. A class keeps at least one image, and gives one if it has two. `option` and `where` begin
// the message.
std::vector<bool> draw_of_each_class(const std::vector<Label>& labels, double share,
                                     std::uint64_t seed, const std::string& option,
                                     const std::string& where);

}  // namespace tandem::data
