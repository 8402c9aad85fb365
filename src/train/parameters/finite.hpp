// Checks for infinities and NaN, and sums of products in double.
#pragma once

#include "tandem/core/span.hpp"

namespace tandem::train {

// Whether all `values` are finite.
bool all_finite(Span<const float> values);

// Sums in double, in an order that depends on the number of values only, so all processors get the
// same.
double precise_dot(Span<const float> one, Span<const float> other);
double sum_of_squares(Span<const float> values);

}  // namespace tandem::train
