// The text of the kernels, in kernels/, which CMake makes part of the library.
#pragma once

#include <vector>

namespace tandem::gpu {

struct KernelFile {
  const char* name;  // as others include it
  const char* text;
};
// all.cu, which includes the others, comes first.
const std::vector<KernelFile>& kernel_files();

}  // namespace tandem::gpu
