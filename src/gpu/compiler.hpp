// NVIDIA's compiler for kernels, NVRTC, which is opened at run time: libtorch brings it. Throws
// UnavailableError if the library is missing or does not compile the kernels.
#pragma once

#include <string>
#include <vector>

namespace tandem::gpu {

struct Compiled {
  std::string binary;  // for cuModuleLoadData
  std::string log;     // warnings
};

// "libnvrtc.so.13"
std::string compiler_library_name();

// Without fused multiply-add, so that results are those of the emulation on a CPU.
constexpr const char* kCompilerOptions[] = {"--std=c++17", "--fmad=false"};

class Compiler {
 public:
  Compiler();
  // "13.0"
  std::string version() const;
  // In the form of 90 for sm_90, in increasing order.
  std::vector<int> architectures() const;
  // For a GPU of compute capability `architecture`. A GPU that the compiler does not know yet gets
  // portable code, which the driver translates.
  Compiled compile(int architecture) const;

 private:
  struct Functions;
  const Functions& functions_;
};

}  // namespace tandem::gpu
