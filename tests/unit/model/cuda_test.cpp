// That nothing asks libtorch for CUDA before its CUDA part is opened: it would keep the answer. A
// program of its own, because any other test may ask.
#include "tandem/model/cuda.hpp"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {
namespace {

TEST(Cuda, IsFoundAfterTheVersionWasAskedFor) {
  EXPECT_FALSE(torch_version().empty());
  try {
    EXPECT_TRUE(open_cuda(0).is_cuda());
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what()).find("finds no GPU that it can use"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(at::globalContext().hasCUDART()) << "libtorch has no CUDA for this process any more";
}

}  // namespace
}  // namespace tandem::model
