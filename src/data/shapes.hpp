// The ten figures of the built-in data set, as sets of points.
#pragma once

#include <array>

namespace tandem::data {

constexpr std::array<const char*, 10> kShapeNames = {
    "disc", "ring", "square", "triangle", "cross", "star", "bar", "crescent", "chevron", "dots"};

// Whether the point belongs to figure `shape` (an index into kShapeNames), which fills about
// [-1, 1] x [-1, 1]; x grows to the right, y downwards.
bool shape_contains(int shape, float x, float y);

}  // namespace tandem::data
