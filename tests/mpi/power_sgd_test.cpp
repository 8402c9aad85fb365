// That PowerSGD gives all ranks the same gradients, that over steps nothing of any rank's is lost,
// and that each rank gets its own errors back from a checkpoint.
#include "tandem/train/power_sgd.hpp"

#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "support/power_sgd_net.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/core/digest.hpp"

namespace tandem::train {
namespace {

class PowerSgdOnRanks : public ::testing::TestWithParam<comm::AllReduceAlgorithm> {
 protected:
  void SetUp() override {
    if (made_.shared_gradients) arena_.move_gradients(made_.shared_gradients);
  }
  void step(std::uint64_t number) {
    testing::bring_gradients(arena_, world_.rank(), number);
    sums_.all_reduce(arena_.gradients());
  }

  const torch::NoGradGuard no_grad_;
  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  comm::MpiCommunicator node_ = world_.node();
  testing::PowerSgdNet network_;
  ParameterArena arena_{network_, true};
  comm::AllReduce made_ =
      comm::make_all_reduce(world_, node_, arena_.gradients(), {GetParam(), false});
  PowerSgdAllReduce sums_{*made_.collectives, arena_, 2, 7};
};

TEST_P(PowerSgdOnRanks, GivesAllTheSameBitsAndLosesNothing) {
  torch::Tensor brought = torch::zeros({24, 50});
  torch::Tensor given = torch::zeros({24, 50});
  const torch::Tensor gradient = network_.named_parameters()["matrix"].grad();
  for (std::uint64_t number = 0; number < 20; ++number) {
    for (int rank = 0; rank < world_.size(); ++rank) {
      testing::bring_gradients(arena_, rank, number);
      brought += gradient;
    }
    step(number);
    given += gradient;
    const std::uint64_t mine = hash64(arena_.gradients().data(), arena_.flat_gradients().nbytes());
    EXPECT_EQ(world_.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMin),
              world_.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax));
  }
  for (const model::NamedTensor& each : sums_.gather_state(world_)) {
    if (each.name != "optimizer.powersgd_error.matrix") continue;
    EXPECT_EQ(each.tensor.size(0), world_.size());
    EXPECT_LT((brought - given - each.tensor.sum(0)).abs().max().item<float>(), 2e-4);
    EXPECT_LT(each.tensor.norm().item<float>(), 2 * brought.norm().item<float>());
  }
}

TEST_P(PowerSgdOnRanks, GivesEachRankItsErrorsBack) {
  for (std::uint64_t number = 0; number < 3; ++number) step(number);
  const std::vector<model::NamedTensor> state = sums_.gather_state(world_);
  EXPECT_EQ(state.size(), world_.rank() == 0 ? 4U : 0U);
  step(3);
  step(4);  // shows the errors of the third
  const torch::Tensor expected = arena_.flat_gradients().clone();
  sums_.restore_state(world_, state);
  step(3);
  step(4);
  EXPECT_TRUE(torch::equal(arena_.flat_gradients(), expected));
}

INSTANTIATE_TEST_SUITE_P(Sums, PowerSgdOnRanks,
                         ::testing::Values(comm::AllReduceAlgorithm::kFlat,
                                           comm::AllReduceAlgorithm::kTwoLevel));

}  // namespace
}  // namespace tandem::train
