// On a stand-in for what libtorch's CUDA library registers.
#include "tandem/model/gpu_ranges.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#if __has_include(<torch/csrc/profiler/stubs/base.h>)
#include <torch/csrc/profiler/stubs/base.h>

namespace tandem::model {
namespace {

namespace profiler = torch::profiler::impl;

class Recorder final : public profiler::ProfilerStubs {
 public:
  void record(c10::DeviceIndex*, profiler::ProfilerVoidEventStub*, std::int64_t*) const override {}
  float elapsed(const profiler::ProfilerVoidEventStub*,
                const profiler::ProfilerVoidEventStub*) const override {
    return 0;
  }
  void mark(const char*) const override {}
  void rangePush(const char* name) const override { seen.emplace_back(name); }
  void rangePop() const override { seen.emplace_back("."); }
  void onEachDevice(std::function<void(int)>) const override {}
  void synchronize() const override {}
  mutable std::vector<std::string> seen;
};

class GpuRangesTest : public ::testing::Test {
 protected:
  GpuRangesTest() { profiler::registerCUDAMethods(&recorder_); }
  ~GpuRangesTest() override {
    profiler::registerCUDAMethods(const_cast<profiler::ProfilerStubs*>(before_));
  }

  const profiler::ProfilerStubs* const before_ = profiler::cudaStubs();
  Recorder recorder_;
};

TEST_F(GpuRangesTest, EndEachOtherAndLieWithinOthers) {
  {
    GpuRanges step({torch::kCUDA, 0});
    step.enter("data");
    step.enter("compute");
    GpuRanges pass({torch::kCUDA, 0});
    pass.enter("forward");
    pass.enter("backward");
  }
  EXPECT_EQ(recorder_.seen, (std::vector<std::string>{"data", ".", "compute", "forward", ".",
                                                      "backward", ".", "."}));
}

TEST_F(GpuRangesTest, AreForGpusAlone) {
  {
    GpuRanges step(torch::kCPU);
    step.enter("data");
  }
  EXPECT_TRUE(recorder_.seen.empty());
}

}  // namespace
}  // namespace tandem::model
#endif
