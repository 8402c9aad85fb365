#include "train/step/step_errors.hpp"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tandem::train {
namespace {

// Code and message of what within_step() throws where its work throws `thrown`.
template <typename Thrown, typename Named = Error>
std::string told(const Thrown& thrown) {
  try {
    within_step(41, [&] { throw thrown; });
  } catch (const Named& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "nothing";
}

TEST(StepErrors, NameTheStepAndKeepTheirKind) {
  EXPECT_EQ(told(IoError("disk on fire")), "74 step 42: disk on fire");
  EXPECT_EQ((told<comm::AgreedError, comm::AgreedError>(
                comm::AgreedError(ExitCode::kTrainingFailed, "not finite"))),
            "70 step 42: not finite");
  EXPECT_EQ(told(std::runtime_error("odd")), "1 step 42: odd");
}

TEST(StepErrors, AFailedGpuIsUnavailable) {
  const auto launch = [] { TORCH_CHECK(false, "CUDA error: unspecified launch failure\nmore"); };
  try {
    within_step(41, launch);
    FAIL();
  } catch (const UnavailableError& error) {
    const std::string expected = "step 42: CUDA error: unspecified launch failure\nthe GPU, ";
    EXPECT_EQ(std::string(error.what()).rfind(expected, 0), 0U) << error.what();
  }
}

TEST(StepErrors, WorkThatSucceedsIsDoneOnce) {
  int count = 0;
  within_step(0, [&] { ++count; });
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace tandem::train
