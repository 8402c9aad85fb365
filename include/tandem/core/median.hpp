// The median of measured values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem {

// The value in the middle, the higher of two. Throws InternalError if there is none.
inline double median_of(std::vector<double> values) {
  if (values.empty()) throw InternalError("nothing was measured");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tandem
