#include "session/fault_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tandem::app {
namespace {

TEST(FaultCode, DoesNotDependOnTheOrder) {
  const std::vector<ExitCode> by_weight{ExitCode::kDone, ExitCode::kMissingInput, ExitCode::kIo,
                                        ExitCode::kBadData, ExitCode::kInternal};
  for (std::size_t i = 0; i < by_weight.size(); ++i) {
    for (std::size_t j = 0; j < by_weight.size(); ++j) {
      EXPECT_EQ(worse_of(by_weight[i], by_weight[j]), by_weight[std::max(i, j)]) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace tandem::app
