// What: memory for libtorch's tensors on the CPU. A block of 64 KiB or more stays when its tensor
// ends, and goes to the next tensor of about its size, so that training steps fault in no pages,
// and a rank has as much memory after every step, and as much as any other. malloc would put small
// things that stay into what was a gradient's, which then fits no more.
// Owns: the blocks that no tensor uses. Threads: tensors of any; construct and destroy while only
// one runs. Throws: UnavailableError, through libtorch's functions, where memory is short.
#pragma once

#include <memory>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// In the message of that error, where some other code keeps nothing else of it.
inline constexpr const char* kTensorMemoryIsWanting = "which the kernel does not give";

// While it lives, libtorch allocates by it. Tensors may end later, but not grow.
class TensorMemory {
 public:
  TensorMemory();
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

 private:
  std::unique_ptr<c10::Allocator> allocator_;
  c10::Allocator* previous_;
};

// Gives what no tensor uses back to the kernel, from a TensorMemory, if there is one, and from
// malloc. To be called where shapes change: blocks for the new ones would be added to the old.
void release_unused_memory();

}  // namespace tandem::model
