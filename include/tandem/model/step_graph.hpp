// CUDA graphs: a step's operations on a GPU, recorded once and repeated. One thread. Throws what
// libtorch throws.
#pragma once

#include <functional>
#include <memory>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  // Records what `work` starts on the current stream, without doing it. Throws if `work` does
  // something that cannot be recorded; the object is then of no use.
  virtual void capture(const std::function<void()>& work) = 0;
  // Does what was recorded, with the same memory.
  virtual void replay() = 0;
};

// Null unless fused::open_library() has opened libtandem_gpu.so, which makes them.
std::unique_ptr<StepGraph> make_step_graph();

// Makes a stream of its own the current one while it lives: CUDA records no default stream, and all
// that autograd remembers of a step must have been made on the stream that is recorded.
class SideStream {
 public:
  explicit SideStream(torch::Device gpu);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

 private:
  const c10::Stream before_;
};

}  // namespace tandem::model
