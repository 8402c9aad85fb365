#include "tandem/model/gpu_failure.hpp"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

constexpr char kGpu[] = "cuda:1 NVIDIA H100 0000:3B:00.0";

std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return gpu_failure(error);
  }
  return "no error";
}

class GpuFailure : public ::testing::Test {
 protected:
  GpuFailure() { name_gpu(kGpu); }
  ~GpuFailure() override { name_gpu(""); }
};

TEST_F(GpuFailure, SaysWhatHelpsWhereMemoryIsFull) {
  const auto fill = [] {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 20.00 GiB");
  };
  const std::string words =
      "CUDA out of memory. Tried to allocate 20.00 GiB\n"
      "give a smaller --batch-size, or fewer ranks on this GPU";
  EXPECT_EQ(failure_of(fill), std::string(kGpu) + ": " + words);
  name_gpu("");
  EXPECT_EQ(failure_of(fill), words);
}

// As C10_CUDA_CHECK throws it: the cause, and lines for programmers of kernels.
TEST_F(GpuFailure, NamesTheGpuThatIsLostAndTheCause) {
  const std::string message =
      "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported";
  const std::string expected = std::string(kGpu) +
                               ": CUDA error: unspecified launch failure\nthe GPU, its driver or a "
                               "kernel has failed; ";
  EXPECT_EQ(failure_of([&] { TORCH_CHECK(false, message); }).rfind(expected, 0), 0U);
#if TANDEM_LIBTORCH_SINCE(2, 9)
  constexpr int kLaunchFailure = 719;  // cudaErrorLaunchFailure
  const c10::AcceleratorError lost({__func__, __FILE__, __LINE__}, kLaunchFailure, message);
  EXPECT_EQ(gpu_failure(lost).rfind(expected, 0), 0U) << gpu_failure(lost);
#endif
}

TEST_F(GpuFailure, CoversTheLibrariesOfCuda) {
  for (const char* words : {"cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
                            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate",
                            "CUDA driver error: device not ready"}) {
    const auto fail = [words] { TORCH_CHECK(false, words); };
    EXPECT_EQ(failure_of(fail).rfind(kGpu + (": " + std::string(words)), 0), 0U) << words;
  }
}

TEST_F(GpuFailure, IsFoundInWhatTheInterpreterOfTorchScriptKeeps) {
  const auto kept = [](const std::string& words) {
    return gpu_failure(std::runtime_error(
        "The following operation failed in the TorchScript interpreter.\n"
        "Traceback of TorchScript (most recent call last):\n  File \"net.py\", line 3, in forward\n"
        "RuntimeError: " +
        words + "\n"));
  };
  const std::string lost =
      kept("CUDA error: unspecified launch failure\nCompile with `TORCH_USE_CUDA_DSA`\n");
  const std::string expected = std::string(kGpu) +
                               ": CUDA error: unspecified launch failure\nthe GPU, its driver or a "
                               "kernel has failed; ";
  EXPECT_EQ(lost.rfind(expected, 0), 0U) << lost;
  EXPECT_EQ(kept("CUDA out of memory. Tried to allocate 20.00 GiB"),
            std::string(kGpu) +
                ": CUDA out of memory. Tried to allocate 20.00 GiB\n"
                "give a smaller --batch-size, or fewer ranks on this GPU");
  EXPECT_EQ(kept("mat1 and mat2 shapes cannot be multiplied"), "");
}

TEST_F(GpuFailure, LeavesOtherErrorsAlone) {
  EXPECT_EQ(failure_of([] { TORCH_CHECK(false, "mat1 and mat2 cannot be multiplied"); }), "");
  EXPECT_EQ(gpu_failure(std::runtime_error("CUDA out of memory")), "");
}

}  // namespace
}  // namespace tandem::model
