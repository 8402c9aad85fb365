// A step as a CUDA graph.
#include "tandem/model/step_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace tandem::gpu {
namespace {

class CudaStepGraph final : public model::StepGraph {
 public:
  void capture(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();
    // A recording has memory of its own, and cannot take what the steps before have left.
    c10::cuda::CUDACachingAllocator::emptyCache();
    // Threads of NVML and of the watchdog may use CUDA meanwhile.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_failed_capture();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  // The exception of `work` is the cause. A failure to end the capture follows from it.
  void end_failed_capture() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      cudaGetLastError();  // otherwise libtorch's next kernel reports it
    }
  }

  at::cuda::CUDAGraph graph_;
};

}  // namespace
}  // namespace tandem::gpu

// A second function that the engine finds by name, next to that of open.cpp. The caller owns what
// it returns.
extern "C" __attribute__((visibility("default"))) tandem::model::StepGraph*
tandem_gpu_make_step_graph() {
  return new tandem::gpu::CudaStepGraph;
}
