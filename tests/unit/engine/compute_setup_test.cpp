#include "engine/compute_setup.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

constexpr char kSameImages[] = ": the same global batch of 64 and the same images in each step, ";

std::string change(const ComputeSetup& before, const ComputeSetup& now) {
  return describe_change(before.to_metadata(), now, 64);
}

TEST(ComputeSetup, SaysNothingOfTheSame) {
  const ComputeSetup setup{2, 1, "cpu", "mpi"};
  EXPECT_EQ(change(setup, setup), "");
  EXPECT_EQ(describe_change({}, setup, 64), "") << "an old checkpoint";
}

TEST(ComputeSetup, NamesWhatChanged) {
  const ComputeSetup before{2, 1, "cpu", "mpi"};
  EXPECT_EQ(change(before, {3, 1, "cpu", "mpi"}),
            std::string("2 ranks then, 3 now") + kSameImages + "sums round differently");
  EXPECT_EQ(change(before, {2, 4, "cpu", "mpi"}),
            std::string("1 thread per rank then, 4 now") + kSameImages + "sums round differently");
  EXPECT_EQ(change({2, 4, "cpu", "mpi"}, before),
            std::string("4 threads per rank then, 1 now") + kSameImages + "sums round differently");
  EXPECT_EQ(change(before, {1, 1, "cuda", "nccl"}),
            std::string("2 ranks then, 1 now; cpu then, cuda now") + kSameImages +
                "sums round differently");
  EXPECT_EQ(change({2, 1, "cuda", "nccl"}, {2, 1, "cuda", "mpi"}),
            std::string("nccl then, mpi now") + kSameImages + "sums round differently");
}

TEST(ComputeSetup, NamesAnotherWayOfTheGradients) {
  EXPECT_EQ(change({2, 1, "cpu", "mpi"}, {2, 1, "cpu", "mpi", false, "mpi"}),
            std::string("flat sums then, mpi sums now") + kSameImages + "sums round differently");
  const ComputeSetup before{4, 1, "cpu", "mpi", false, "flat", "fp32"};
  EXPECT_EQ(change(before, {4, 1, "cpu", "mpi", false, "two-level", "bf16"}),
            std::string("flat sums then, two-level sums now; fp32 gradients then, bf16 gradients "
                        "now") +
                kSameImages + "sums round differently");
}

TEST(ComputeSetup, NamesOtherConvolutionsOfCpus) {
  ComputeSetup before{4, 1, "cpu", "mpi", true};
  before.convolution = "auto";
  EXPECT_EQ(
      change(before, {4, 1, "cpu", "mpi", true}),
      std::string("auto convolution then, direct now") + kSameImages + "sums round differently");
  before.device = "cuda";
  EXPECT_EQ(change(before, {4, 1, "cuda", "mpi", true}), "") << "GPUs take no notice";
}

TEST(ComputeSetup, CountsCheckpointsWithoutConvolutionsAsDirect) {
  const ComputeSetup direct{4, 1, "cpu", "mpi", true};
  std::map<std::string, std::string> earlier = direct.to_metadata();
  earlier.erase("convolution");
  EXPECT_EQ(describe_change(earlier, direct, 64), "");
  ComputeSetup now = direct;
  now.convolution = "auto";
  EXPECT_NE(describe_change(earlier, now, 64).find("direct convolution then, auto now"),
            std::string::npos);
}

TEST(ComputeSetup, ReadsTheAlgorithmOfEarlierCheckpoints) {
  const std::map<std::string, std::string> earlier{{"sum_algorithm", "two-level sums"}};
  EXPECT_EQ(
      describe_change(earlier, {4, 1, "cpu", "mpi"}, 64),
      std::string("two-level sums then, flat sums now") + kSameImages + "sums round differently");
  EXPECT_EQ(describe_change(earlier, {4, 1, "cpu", "mpi", false, "two-level"}, 64), "");
}

TEST(ComputeSetup, VirtualRanksKeepTheBitsOnOtherRanksButNotOnOtherDevices) {
  const ComputeSetup before{2, 1, "cpu", "mpi", true};
  EXPECT_EQ(change(before, {4, 1, "cpu", "mpi", true}),
            std::string("2 ranks then, 4 now") + kSameImages + "and the same bits");
  EXPECT_EQ(change(before, {2, 1, "cuda", "nccl", true}),
            std::string("cpu then, cuda now") + kSameImages + "sums round differently");
}

}  // namespace
}  // namespace tandem::app
