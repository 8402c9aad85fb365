// That nothing asks libtorch for CUDA before its CUDA part is opened: it would keep the answer. A
// program of its own, because any other test may ask.
#include "tandem/model/cuda.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

TEST(Cuda, IsFoundAfterTheVersionWasAskedFor) {
  EXPECT_FALSE(torch_version().empty());
  try {
    const torch::Device gpu = open_cuda(0, {});
    EXPECT_TRUE(gpu.is_cuda());
    EXPECT_GT(free_memory_of(gpu), 0U);
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what()).find("finds no GPU that it can use"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(at::globalContext().hasCUDART()) << "libtorch has no CUDA for this process any more";
  EXPECT_NE(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"), nullptr) << "free_memory_of() calls it";
}

}  // namespace
}  // namespace tandem::model
