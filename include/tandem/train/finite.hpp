// Checks for infinities and NaN, and measures the distance from them.
#pragma once

#include "tandem/core/span.hpp"

namespace tandem::train {

// Whether none of `values` is infinite or not a number.
bool all_finite(Span<const float> values);

// In double, added up in an order that depends on their number alone: the same on every processor.
double sum_of_squares(Span<const float> values);

}  // namespace tandem::train
