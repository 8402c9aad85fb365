// Starts kernels by name, on GPUs or, in tests, on an emulation. Throws c10::Error or what the
// launcher throws.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/arguments.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::gpu {

struct Launch {
  std::string kernel;
  std::int64_t blocks = 1;  // gridDim.x
  std::int64_t tiles = 1;   // gridDim.y
  int threads = kThreads;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // `arguments`: the structure that the kernel takes. Kernels start in order, on libtorch's current
  // stream of `device`.
  virtual void launch(torch::Device device, const Launch& launch, const void* arguments) = 0;
};

// The launcher of all operators from now on. It must live until the process ends.
void use_launcher(Launcher& launcher);
Launcher& launcher();

// The end of the names of kernels for a type: "_float".
std::string suffix_of(torch::ScalarType type);

// `count` zeros for is_last_block(), which leaves them zero. Each stream of a device has its own.
unsigned* tickets_of(torch::Device device, std::int64_t count);

inline std::int64_t divided_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

}  // namespace tandem::gpu
