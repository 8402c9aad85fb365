// The loops of the bf16 all-reduce over host memory, in one pass. A float is rounded to the nearest
// bfloat16, ties to even, as processors and libtorch do.
#pragma once

#include <cstddef>

#include "tandem/comm/collectives.hpp"

namespace tandem::comm {

// All arrays hold `size` elements and do not overlap.

// rounded = value + error, rounded; `error` becomes what rounding took away. Where that is no
// finite number nothing is kept, so that one overflow does not stay for ever.
void round_and_keep_error(Bfloat16* rounded, const float* value, float* error, std::size_t size);
// rounded = value, rounded; what rounding took away is added to `error`, if it is finite.
void round_and_add_error(Bfloat16* rounded, const float* value, float* error, std::size_t size);
void widen(float* value, const Bfloat16* rounded, std::size_t size);
// sum += rounded
void add_widened(float* sum, const Bfloat16* rounded, std::size_t size);

}  // namespace tandem::comm
