// That one wrong bit on one rank is found, and said where.
#include "tandem/train/drift_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/mpi_test.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::train {
namespace {

class DriftCheck : public ::testing::Test {
 protected:
  DriftCheck() {
    broadcast_weights(world_, arena_, *network_);
    for (const StateArray& each : optimizer_->state()) {
      each.values.fill_(0.5);
    }
  }
  // The lowest bit of one value of `slot` in `values`, on one rank.
  void flip(int rank, Span<float> values, std::size_t slot) {
    if (world_.rank() != rank) return;
    float& value = values.data()[arena_.slots().at(slot).offset + 1];
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits ^= 1;
    std::memcpy(&value, &bits, sizeof bits);
  }
  // The message and code with which every rank is refused.
  template <typename Check>
  std::pair<ExitCode, std::string> refusal(Check check) {
    try {
      check();
    } catch (const comm::AgreedError& error) {
      return {error.code(), error.what()};
    }
    return {ExitCode::kDone, ""};
  }
  void require_finite() {
    require_finite_state(world_, arena_, state_on_host(*network_, arena_, *optimizer_));
  }

  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  model::NetworkPtr network_ = model::make_network("lenet", {1, 28, 28}, 10);
  ParameterArena arena_{*network_, true};
  std::unique_ptr<Optimizer> optimizer_ = make_optimizer({}, arena_.values().size());
};

TEST_F(DriftCheck, ABroadcastStateIsRankZerosOnEveryRank) {
  const auto mine = static_cast<float>(world_.rank() + 1);
  const torch::Tensor buffer = network_->register_buffer("mean", torch::full({3}, mine));
  const auto filled = [&] {
    std::vector<torch::Tensor> all{arena_.flat_values(), buffer};
    for (const StateArray& each : optimizer_->state()) all.push_back(each.values);
    return all;
  };
  const torch::NoGradGuard no_grad;
  for (torch::Tensor each : filled()) each.fill_(mine);
  broadcast_state(world_, *network_, arena_, *optimizer_);
  for (const torch::Tensor& each : filled()) EXPECT_TRUE(each.eq(1).all().item<bool>());
}

TEST_F(DriftCheck, EqualRanksPass) {
  EXPECT_NO_THROW(require_equal_state(world_, arena_, *optimizer_));
  EXPECT_NO_THROW(require_finite());
}

TEST_F(DriftCheck, AFlippedBitOfAWeightNamesTensorAndRank) {
  REQUIRE_RANKS(3);  // of two that differ nobody can say which is wrong
  flip(1, arena_.values(), 2);
  const auto [code, message] = refusal([&] { require_equal_state(world_, arena_, *optimizer_); });
  EXPECT_EQ(code, ExitCode::kDisagreement);
  EXPECT_NE(message.find("'" + arena_.slots()[2].name + "' of rank 1 "), std::string::npos)
      << message;
}

TEST_F(DriftCheck, NobodySaysWhichIsRightWhereNoMajorityDoes) {
  REQUIRE_RANKS(3);
  flip(1, arena_.values(), 0);
  if (world_.rank() == 2) arena_.values().data()[arena_.slots()[0].offset + 1] += 1;
  const auto [code, message] = refusal([&] { require_equal_state(world_, arena_, *optimizer_); });
  EXPECT_EQ(code, ExitCode::kDisagreement);
  EXPECT_NE(message.find("no majority"), std::string::npos) << message;
}

TEST_F(DriftCheck, AFlippedBitOfTheOptimizerIsFoundToo) {
  flip(world_.size() - 1, floats_of(optimizer_->state()[0].values), 0);
  const auto [code, message] = refusal([&] { require_equal_state(world_, arena_, *optimizer_); });
  EXPECT_EQ(code, ExitCode::kDisagreement);
  EXPECT_NE(message.find("'optimizer.velocity." + arena_.slots()[0].name + "'"), std::string::npos)
      << message;
}

TEST_F(DriftCheck, StatesThatAreNotFiniteAreNamed) {
  arena_.values().data()[5] = NAN;
  const auto [code, message] = refusal([&] { require_finite(); });
  EXPECT_EQ(code, ExitCode::kTrainingFailed);
  EXPECT_NE(message.find("'" + arena_.slots()[0].name + "' is not finite"), std::string::npos)
      << message;
}

TEST_F(DriftCheck, ABufferOfRank0ThatIsNotFiniteIsNamed) {
  const torch::Tensor buffer = network_->register_buffer("variance", torch::ones({3}));
  network_->register_buffer("count", torch::ones({}, torch::kInt64));
  const auto check = [&] { require_finite(); };
  if (world_.rank() == 1) buffer[1] = NAN;  // takes rank 0's
  EXPECT_NO_THROW(check());
  if (world_.rank() == 0) buffer[2] = INFINITY;
  const auto [code, message] = refusal(check);
  EXPECT_EQ(code, ExitCode::kTrainingFailed);
  EXPECT_NE(message.find("buffer 'variance' of rank 0 is not finite"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace tandem::train
