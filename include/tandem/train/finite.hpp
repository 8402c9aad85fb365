// What: whether training has run into infinities or NaN.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include "tandem/core/span.hpp"

namespace tandem::train {

// Whether none of `values` is infinite or not a number.
bool all_finite(Span<const float> values);

}  // namespace tandem::train
