// The implementations of the operators of tandem/model/fused_operators.hpp.
#pragma once

#include <torch/library.h>

namespace tandem::gpu {

// `library`: of kind IMPL, for one dispatch key. The operators call the launcher of use_launcher().
void register_operators(torch::Library& library);

}  // namespace tandem::gpu
