#include "tandem/model/torch_compat.hpp"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace tandem::model {
namespace {

TEST(DeterministicAlgorithms, RefuseAnOperationThatHasNone) {
  const torch::Tensor values = torch::ones({1, 1, 1, 1});
  const torch::Tensor places = torch::zeros({1, 1, 1, 1}, torch::kInt64);
  const auto unpool = [&] { return at::max_unpool2d(values, places, {2, 2}); };
  EXPECT_NO_THROW(unpool());
  use_deterministic_algorithms();
  EXPECT_THROW(unpool(), c10::Error);
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  at::globalContext().setDeterministicAlgorithms(false, false);
}

}  // namespace
}  // namespace tandem::model
