// That gradients which travel as bfloat16 are summed alike on all ranks, rounded as is said, and
// that over steps nothing of them is lost.
#include "allreduce/bf16_all_reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allreduce/hierarchical_all_reduce.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/device_bf16_all_reduce.hpp"

namespace tandem::train {
namespace {

float as_bfloat16(float value) { return static_cast<float>(c10::BFloat16(value)); }

// The same on all ranks: what a rank brings in a step.
float number(int rank, std::size_t step, std::size_t i) {
  CounterRandom random{static_cast<std::uint64_t>(rank), step, i};
  return static_cast<float>(random.normal());
}

class Bf16AllReduceTest : public ::testing::TestWithParam<comm::Bf16Route> {
 protected:
  static constexpr std::size_t kSize = 5003;  // in no number of equal parts

  void bring(std::size_t step) {
    for (std::size_t i = 0; i < kSize; ++i) gradients_[i] = number(world_.rank(), step, i);
  }
  double whole(std::size_t step, std::size_t i) const {
    double sum = 0;
    for (int rank = 0; rank < world_.size(); ++rank) sum += number(rank, step, i);
    return sum;
  }
  void sum() { sums_.all_reduce(Span<float>(gradients_)); }

  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  std::vector<float> gradients_ = std::vector<float>(kSize);
  comm::Bf16AllReduce sums_{world_, Span<float>(gradients_), GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Routes, Bf16AllReduceTest,
                         ::testing::Values(comm::Bf16Route::kBySize, comm::Bf16Route::kCirculant));

TEST_P(Bf16AllReduceTest, RoundsWhatEachBringsAddsInFp32InRankOrderAndRoundsTheSum) {
  if (GetParam() == comm::Bf16Route::kCirculant) return;  // rounds more often
  bring(0);
  sum();
  for (std::size_t i = 0; i < kSize; ++i) {
    float expected = 0;
    for (int rank = 0; rank < world_.size(); ++rank) expected += as_bfloat16(number(rank, 0, i));
    expected = world_.size() == 1 ? number(0, 0, i) : as_bfloat16(expected);
    ASSERT_EQ(gradients_[i], expected) << i;
  }
}

// On the way from rank to rank a sum is rounded before each message.
TEST_P(Bf16AllReduceTest, GivesAllRanksOneSumThatIsNearTheExactOne) {
  bring(0);
  sum();
  std::vector<float> least = gradients_;
  std::vector<float> most = gradients_;
  world_.all_reduce(Span<float>(least), comm::Reduction::kMin);
  world_.all_reduce(Span<float>(most), comm::Reduction::kMax);
  EXPECT_EQ(least, most);
  for (std::size_t i = 0; i < kSize; ++i) {
    // Half of a last place, 1/32 below 16, for each of up to three roundings of a sum.
    ASSERT_NEAR(gradients_[i], whole(0, i), world_.size() == 1 ? 0 : 3.0 / 64) << i;
    if (world_.size() > 1) {
      ASSERT_EQ(gradients_[i], as_bfloat16(gradients_[i])) << i;
    }
  }
}

// The same gradients in each step, of which rounding takes away the same.
TEST_P(Bf16AllReduceTest, LosesNothingOverSteps) {
  constexpr int kSteps = 60;
  std::vector<double> found(kSize);
  for (int step = 0; step < kSteps; ++step) {
    bring(0);
    sum();
    for (std::size_t i = 0; i < kSize; ++i) found[i] += gradients_[i];
  }
  double strayed = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    strayed = std::max(strayed, std::abs(found[i] - kSteps * whole(0, i)));
  }
  // What the ranks still keep: half of a last place, 1/64 below 8 and 1/32 below 16, of each number
  // and of the sum, or on the circulant route of each partial sum. Without feedback it would be up
  // to 60 times as much.
  const double of_one = GetParam() == comm::Bf16Route::kBySize ? 1.0 / 64 : 1.0 / 32;
  EXPECT_LT(strayed, world_.size() * of_one + 1.0 / 32);
}

TEST_P(Bf16AllReduceTest, ForgetsWhatItKept) {
  bring(0);
  sum();
  const std::vector<float> first = gradients_;
  bring(0);
  sum();
  EXPECT_EQ(gradients_ == first, world_.size() == 1) << "nothing was kept of the first step";
  sums_.reset_error_feedback();
  bring(0);
  sum();
  EXPECT_EQ(gradients_, first);
}

TEST_P(Bf16AllReduceTest, AnInfinityIsSeenByAllAndDoesNotStay) {
  bring(0);
  if (world_.rank() == world_.size() - 1) {
    gradients_[7] = std::numeric_limits<float>::infinity();
  }
  sum();
  EXPECT_TRUE(std::isinf(gradients_[7]));
  bring(1);
  sum();
  EXPECT_NEAR(gradients_[7], whole(1, 7), 0.1);
}

TEST_P(Bf16AllReduceTest, BucketsMayBeUnderWayTogetherAndAdvanceUnevenly) {
  bring(0);
  sum();
  const std::vector<float> expected = gradients_;
  sums_.reset_error_feedback();
  bring(0);
  std::vector<std::unique_ptr<comm::Request>> requests;
  constexpr std::size_t kBucket = 160;
  for (std::size_t at = 0; at < kSize; at += kBucket) {
    requests.push_back(
        sums_.iall_reduce(Span<float>(gradients_).subspan(at, std::min(kBucket, kSize - at))));
    if (requests.size() % 4 == static_cast<std::size_t>(world_.rank())) {
      for (const auto& each : requests) each->test();
    }
  }
  for (const auto& each : requests) each->wait();
  if (GetParam() == comm::Bf16Route::kBySize) {
    EXPECT_EQ(gradients_, expected) << "a cut into buckets changes no sum";
  }
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_NEAR(gradients_[i], expected[i], 3.0 / 32) << i;
}

TEST_P(Bf16AllReduceTest, LeavesOtherSumsToMpi) {
  float elsewhere = 1.0F + 1.0F / 1024;  // bfloat16 has no such number
  sums_.all_reduce(Span<float>(&elsewhere, 1));
  EXPECT_EQ(elsewhere, static_cast<float>(world_.size()) * (1.0F + 1.0F / 1024));
}

// Hosts of two ranks, made up of this host's: fp32 within each, bfloat16 between.
void check_hierarchical_sums(comm::HierarchicalAllReduce& sums, comm::MpiCommunicator& world,
                             Span<float> gradients) {
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = number(world.rank(), 0, i);
    std::vector<std::unique_ptr<comm::Request>> requests;
    constexpr std::size_t kBucketOfFloats = 500;
    for (std::size_t at = 0; at < gradients.size(); at += kBucketOfFloats) {
      const std::size_t count = std::min(kBucketOfFloats, gradients.size() - at);
      requests.push_back(sums.iall_reduce(gradients.subspan(at, count)));
      if (requests.size() % 2 == static_cast<std::size_t>(world.rank()) % 2) {
        for (const auto& each : requests) each->test();
      }
    }
    for (const auto& each : requests) each->wait();
    std::vector<float> least(gradients.begin(), gradients.end());
    std::vector<float> most = least;
    world.all_reduce(Span<float>(least), comm::Reduction::kMin);
    world.all_reduce(Span<float>(most), comm::Reduction::kMax);
    EXPECT_EQ(least, most);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      double expected = 0;
      for (int rank = 0; rank < world.size(); ++rank) expected += number(rank, 0, i);
      // One host of one or two ranks rounds nothing.
      ASSERT_NEAR(gradients[i], expected, world.size() <= 2 ? 1e-5 : 0.15) << i;
    }
  }
}

TEST(HierarchicalBf16AllReduce, AddWithinHostsExactlyAndGiveAllRanksTheSameBits) {
  auto world = comm::MpiCommunicator::world();
  auto node = world.split(world.rank() / 2);
  std::vector<float> gradients(3001);
  comm::HierarchicalAllReduce sums(world, node, Span<float>(gradients));
  check_hierarchical_sums(sums, world, Span<float>(gradients));
}

TEST(HierarchicalBf16AllReduce, AddTheSameWayInSharedMemory) {
  auto world = comm::MpiCommunicator::world();
  auto node = world.split(world.rank() / 2);
  const auto floats = comm::SharedFloats::make(node, 3001);
  comm::HierarchicalAllReduce sums(world, node, floats->mine(), floats);
  check_hierarchical_sums(sums, world, floats->mine());
}

TEST_P(Bf16AllReduceTest, SaysWhatItIs) { EXPECT_EQ(sums_.name(), "mpi as bfloat16"); }

// Adds bfloat16 numbers as NCCL does, on the host: through fp32 over MPI, rounded at the end.
class AddsBfloat16 final : public comm::ForwardingCollectives {
 public:
  using ForwardingCollectives::ForwardingCollectives;
  std::string name() const override { return "adder"; }
  std::vector<comm::DataType> types;

 private:
  struct Done final : comm::Request {
    bool test() override { return true; }
  };
  void do_all_reduce(comm::Buffer buffer) override {
    types.push_back(buffer.type);
    if (buffer.type != comm::DataType::kBfloat16) return;
    auto* values = static_cast<c10::BFloat16*>(buffer.data);
    std::vector<float> wide(values, values + buffer.size);
    inner().all_reduce(Span<float>(wide));
    std::copy(wide.begin(), wide.end(), values);
  }
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer buffer) override {
    do_all_reduce(buffer);
    return std::make_unique<Done>();
  }
};

TEST(DeviceBf16AllReduce, SendBfloat16AndKeepWhatRoundingTakes) {
  auto world = comm::MpiCommunicator::world();
  AddsBfloat16 carrier(world);
  const torch::Tensor gradients = torch::zeros({64});
  DeviceBf16AllReduce sums(carrier, gradients);
  EXPECT_EQ(sums.name(), "adder as bfloat16");
  const Span<float> memory(gradients.data_ptr<float>(), 64);
  // A quarter of the last place: in every fourth step it is enough.
  const float brought = 1.0F + 1.0F / 512;
  double sum = 0;
  for (int step = 0; step < 8; ++step) {
    gradients.fill_(brought);
    const Span<float> half = memory.subspan(32, 32);
    if (step % 2 == 0) {
      sums.iall_reduce(half)->wait();
    } else {
      sums.all_reduce(half);
    }
    EXPECT_EQ(memory[0], brought) << "of another bucket";
    sum += memory[32];
  }
  EXPECT_NEAR(sum, 8.0 * brought * world.size(), world.size() == 1 ? 1e-6 : 0.01 * world.size());
  for (const comm::DataType type : carrier.types) {
    EXPECT_EQ(type == comm::DataType::kBfloat16, world.size() > 1);
  }
  gradients.fill_(std::numeric_limits<float>::infinity());
  sums.all_reduce(memory);
  gradients.fill_(1);
  sums.all_reduce(memory);
  EXPECT_TRUE(gradients.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace tandem::train
