#include "cli/optimizer_options.hpp"

#include <gtest/gtest.h>

#include "support/train_options.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

using testing::request_of;

void expect_fault(const std::vector<std::string>& arguments, const std::string& fault) {
  try {
    request_of(arguments);
    ADD_FAILURE() << "no fault: " << fault;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(fault), std::string::npos) << error.what();
  }
}

TEST(OptimizerOptions, AreOffUnlessTheyAreGiven) {
  const train::TrainConfig config = request_of({}).config;
  EXPECT_EQ(config.ema, 0);
  EXPECT_EQ(config.early_stop, 0U);
  EXPECT_FALSE(config.weighs_classes());
  EXPECT_EQ(config.optimizer.trust_coefficient, 0.001);
  EXPECT_EQ(config.schedule.polynomial_power, 2);
}

TEST(OptimizerOptions, AreRead) {
  const train::TrainConfig config = request_of({"--ema", "0.99", "--early-stop", "3", "--optimizer",
                                                "lars", "--trust-coefficient", "0.02", "--schedule",
                                                "polynomial", "--polynomial-power", "0.5"})
                                        .config;
  EXPECT_EQ(config.ema, 0.99);
  EXPECT_EQ(config.early_stop, 3U);
  EXPECT_EQ(config.optimizer.name, "lars");
  EXPECT_EQ(config.optimizer.trust_coefficient, 0.02);
  EXPECT_EQ(config.schedule.name, "polynomial");
  EXPECT_EQ(config.schedule.polynomial_power, 0.5);
}

TEST(OptimizerOptions, ClassWeightsAreBalancedOrAList) {
  EXPECT_TRUE(request_of({"--class-weights", "balanced"}).config.has_balanced_classes);
  EXPECT_EQ(request_of({"--class-weights", "1,2.5,1e-3"}).config.class_weights,
            (std::vector<double>{1, 2.5, 1e-3}));
  for (const char* list : {"1,,2", "1,zero", "1,0", "1,-1", "equal"}) {
    expect_fault({"--class-weights", list}, "--class-weights: '" + std::string(list) + "' is");
  }
}

TEST(OptimizerOptions, NameWhatTheyCannotBeCombinedWith) {
  expect_fault({"--class-weights", "balanced", "--loss", "sum"},
               "--class-weights and --loss sum exclude each other: ");
  expect_fault({"--class-weights", "balanced", "--augment", "flip,mixup"},
               "--class-weights and --augment with mixup or cutmix exclude each other: ");
  expect_fault({"--early-stop", "2", "--eval-every", "0"},
               "--early-stop and --eval-every 0 exclude each other: ");
  expect_fault({"--ema", "1"}, "--ema");
}

}  // namespace
}  // namespace tandem::app
