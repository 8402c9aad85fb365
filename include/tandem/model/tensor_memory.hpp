// An allocator for libtorch's CPU tensors. Freed memory of 64 KiB or more is kept for the next
// tensors. So training steps cause no page faults, and memory use is the same
// after each step and on each rank. malloc would fragment the memory of gradients with small
// long-lived objects.
//
// Construct and destroy it while only one thread runs; tensors of any thread may use it. Without
// memory libtorch's functions throw UnavailableError.
#pragma once

#include <memory>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// A phrase of that error's message, for code that has only the message.
inline constexpr const char* kNoTensorMemory = "which the kernel does not give";

// libtorch allocates with it while it exists. Its tensors may outlive it, but not grow.
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

// Returns unused memory of a TensorMemory, if there is one, and of malloc to the kernel. Call it if
// shapes change, or blocks for the new shapes are added to the old.
void release_unused_memory();

}  // namespace tandem::model
