#include "tandem/model/torch_compat.hpp"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tandem::model {
namespace {

TEST(TorchCompat, SaysWhatHelpsWhereAGpusMemoryIsFull) {
  try {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 20.00 GiB");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(out_of_gpu_memory(error),
              "CUDA out of memory. Tried to allocate 20.00 GiB\n"
              "give a smaller --batch-size, or fewer ranks on this GPU");
  }
  EXPECT_EQ(out_of_gpu_memory(std::runtime_error("CUDA out of memory")), "");
}

}  // namespace
}  // namespace tandem::model
