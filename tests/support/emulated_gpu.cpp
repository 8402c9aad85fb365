#include "emulated_gpu.hpp"

#include <gtest/gtest.h>
#include <torch/library.h>

#include <mutex>
#include <string>

#include "emulated_kernels.hpp"
#include "gpu/launch.hpp"
#include "gpu/register.hpp"
#include "tandem/model/cuda.hpp"
#include "tandem/model/fused_operators.hpp"
#include "wants_gpu.hpp"

namespace tandem::gpu {

torch::Device test_device() {
  if (!testing::wants_gpu()) return torch::kCPU;
  static const torch::Device kGpu = model::open_cuda(0, {true, false});
  TORCH_CHECK(model::fused::available(torch::kCUDA), model::fused::why_unavailable());
  return kGpu;
}

namespace {

// Before all tests: libtorch keeps the answer once it was asked for a GPU, and any test may ask.
class OpensTheGpu final : public ::testing::Environment {
  void SetUp() override { test_device(); }
};
const auto* const kOpensTheGpu = ::testing::AddGlobalTestEnvironment(new OpensTheGpu);

}  // namespace

}  // namespace tandem::gpu

namespace tandem::gpu::emulated {
namespace {

class EmulatedLauncher final : public Launcher {
 public:
  void launch(torch::Device /*device*/, const Launch& launch, const void* arguments) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++launches_;
    run_kernel({launch.kernel, static_cast<unsigned>(launch.blocks),
                static_cast<unsigned>(launch.tiles), static_cast<unsigned>(launch.threads)},
               arguments, backwards_);
  }

  void run_backwards(bool backwards) { backwards_ = backwards; }
  std::uint64_t launches() const { return launches_; }

 private:
  std::mutex mutex_;
  std::uint64_t launches_ = 0;
  bool backwards_ = false;
};

EmulatedLauncher& the_launcher() {
  static auto& launcher = *new EmulatedLauncher;
  return launcher;
}

}  // namespace

void run_backwards(bool backwards) { the_launcher().run_backwards(backwards); }
std::uint64_t launches() { return the_launcher().launches(); }

}  // namespace tandem::gpu::emulated

TORCH_LIBRARY_IMPL(tandem, CPU, library) {
  tandem::gpu::use_launcher(tandem::gpu::emulated::the_launcher());
  tandem::gpu::register_operators(library);
}
