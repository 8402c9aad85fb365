// The CUDA and libtorch that this program was built with. A file of its own, so that a test can
// link another answer.
#pragma once

#include <string>

namespace tandem::app {

// The oldest version of CUDA that a driver must support for it, as CUDA counts (13000 is 13.0);
// 0: built without CUDA.
int cuda_of_build();

// The version of libtorch that this program was built with.
std::string libtorch_of_build();

}  // namespace tandem::app
