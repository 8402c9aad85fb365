// That ranks of a host train with one copy of weights and optimizer state as with one each.
#include <gtest/gtest.h>

#include <cstring>

#include "support/mpi_test.hpp"
#include "support/snapshot_of.hpp"
#include "tandem/train/drift_check.hpp"
#include "tandem/train/snapshot.hpp"
#include "train_on.hpp"

namespace tandem::train {
namespace {

OptimizerOptions sgd(double momentum, bool nesterov) {
  OptimizerOptions options;
  options.momentum = momentum;
  options.nesterov = nesterov;
  options.weight_decay = 1e-3;
  return options;
}

OptimizerOptions named(const char* name) {
  OptimizerOptions options;
  options.name = name;
  options.nesterov = true;
  return options;
}

class SharedWeights : public ::testing::Test {
 protected:
  // The same weights and state as without, on one host and on hosts of two ranks; of three ranks
  // the last is alone on its host.
  void expect_same_bits(const TrainConfig& config) {
    const Outcome apart = train_on(world_, config, images_);
    for (comm::MpiCommunicator* const host : {&world_, &pair_}) {
      Manner manner;
      manner.host = host;
      const Outcome shared = train_on(world_, config, images_, manner);
      EXPECT_TRUE(shared.ranks_equal_at_every_step);
      EXPECT_EQ(shared.weights, apart.weights) << "hosts of " << host->size();
      EXPECT_EQ(shared.state, apart.state) << "hosts of " << host->size();
      EXPECT_EQ(shared.losses, apart.losses);
    }
  }
  static TrainConfig few_steps() {
    TrainConfig config = base_config();
    config.max_steps = 6;
    return config;
  }

  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  comm::MpiCommunicator pair_ = world_.split(world_.rank() / 2);
  const Images images_{300};
};

TEST_F(SharedWeights, GiveTheSameBitsWithEachOptimizer) {
  for (const OptimizerOptions& optimizer :
       {sgd(0, false), sgd(0.9, false), sgd(0.9, true), named("adamw"), named("muon")}) {
    SCOPED_TRACE(optimizer.name + " " + std::to_string(optimizer.momentum));
    TrainConfig config = few_steps();
    config.optimizer = optimizer;
    config.clip_norm = 0.5;
    expect_same_bits(config);
  }
}

TEST_F(SharedWeights, GiveTheSameBitsWithEachExchange) {
  TrainConfig config = few_steps();
  config.bucket_mb = 0.05;
  expect_same_bits(config);
  config.bfloat16_gradients = true;
  expect_same_bits(config);
  config.bfloat16_gradients = false;
  config.bucket_mb = 0;
  config.powersgd_rank = 2;
  expect_same_bits(config);
  config.powersgd_rank = 0;
  config.accumulate = 2;
  expect_same_bits(config);
  if (world_.size() == 3) return;  // no power of two
  config.accumulate = 1;
  config.virtual_ranks = 4;
  expect_same_bits(config);
}

TEST_F(SharedWeights, GiveTheSameBitsWithBatchNormEvaluationsAndSkippedUpdates) {
  TrainConfig config = few_steps();
  config.model = "everything.pt";
  config.channels_last = false;
  config.eval_every = 1;
  expect_same_bits(config);
  config.model = "lenet";
  config.learning_rate = 1e8;
  Manner manner;
  manner.skip_nonfinite = true;
  const Outcome apart = train_on(world_, config, images_, manner);
  manner.host = &world_;
  const Outcome shared = train_on(world_, config, images_, manner);
  EXPECT_GT(shared.result.skipped_steps, 0U);
  EXPECT_EQ(shared.weights, apart.weights);
}

// A network whose weights the ranks of a host share, or not, and updates by made-up gradients.
class Holder {
 public:
  Holder(comm::MpiCommunicator& world, comm::MpiCommunicator* host,
         const OptimizerOptions& optimizer)
      : world_(world), network_(seeded_network()) {
    arena_ = std::make_unique<ParameterArena>(*network_, true);
    share_weights(world, host, optimizer, *arena_);
    broadcast_weights(world, *arena_, *network_);
    TrainConfig config;
    config.optimizer = optimizer;
    optimizer_ = optimizer_of(config, Form::kHost, *arena_, *network_);
  }
  void step(std::uint64_t number) {
    world_.barrier();  // as an exchange of gradients
    torch::manual_seed(number);
    for (const ParameterArena::Slot& slot : arena_->slots()) {
      slot.parameter.grad().copy_(torch::randn(slot.parameter.sizes()) * 0.1);
    }
    optimizer_->step(arena_->flat_values(), arena_->flat_gradients(), 0.1);
  }
  // As a start that resumes does.
  void restore(const std::vector<model::NamedTensor>& tensors, std::uint64_t steps) {
    if (world_.rank() == 0) restore_snapshot(tensors, *network_, *arena_, *optimizer_);
    broadcast_state(world_, *network_, *arena_, *optimizer_);
    optimizer_->set_steps(steps);
  }
  std::vector<model::NamedTensor> snapshot() {
    return testing::snapshot_of(*network_, *arena_, *optimizer_);
  }
  // Rank 0 flips the lowest bit of one value of a slot in `values`.
  void flip(const torch::Tensor& values, std::size_t slot) {
    if (world_.rank() == 0) {
      float& value = floats_of(values)[arena_->slots().at(slot).offset + 1];
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      bits ^= 1;
      std::memcpy(&value, &bits, sizeof bits);
    }
    world_.barrier();
  }
  // The message with which every rank is refused; "" if the state is right.
  std::string drift() {
    try {
      require_equal_state(world_, *arena_, *optimizer_);
    } catch (const comm::AgreedError& error) {
      EXPECT_EQ(error.code(), ExitCode::kDisagreement);
      return error.what();
    }
    return "";
  }
  ParameterArena& arena() { return *arena_; }
  Optimizer& optimizer() { return *optimizer_; }

 private:
  static model::NetworkPtr seeded_network() {
    torch::manual_seed(5);
    return model::make_network("lenet", {1, 28, 28}, 10);
  }

  comm::MpiCommunicator& world_;
  model::NetworkPtr network_;
  std::unique_ptr<ParameterArena> arena_;
  std::unique_ptr<Optimizer> optimizer_;
};

void expect_equal(const std::vector<model::NamedTensor>& found,
                  const std::vector<model::NamedTensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, expected[i].name);
    EXPECT_TRUE(torch::equal(found[i].tensor, expected[i].tensor)) << found[i].name;
  }
}

TEST_F(SharedWeights, ASnapshotIsTheSameAndGoesOnWithAndWithout) {
  for (const OptimizerOptions& optimizer : {sgd(0.9, false), named("adamw"), named("muon")}) {
    Holder apart(world_, nullptr, optimizer);
    Holder shared(world_, &pair_, optimizer);
    for (std::uint64_t step = 0; step < 3; ++step) {
      apart.step(step);
      shared.step(step);
    }
    const auto middle = shared.snapshot();
    expect_equal(middle, apart.snapshot());
    apart.step(3);
    shared.step(3);
    const auto end = apart.snapshot();
    Holder later(world_, &world_, optimizer);
    Holder later_apart(world_, nullptr, optimizer);
    for (Holder* const each : {&later, &later_apart, &shared}) {  // `shared` goes back a step
      world_.barrier();
      each->restore(middle, 3);
      EXPECT_EQ(each->drift(), "");
      each->step(3);
      expect_equal(each->snapshot(), end);
    }
  }
}

// A flipped bit in the part of any rank, found at once or after further updates.
TEST_F(SharedWeights, AWriteFromOutsideIsFoundAndNamesTheTensor) {
  for (const OptimizerOptions& optimizer : {sgd(0.9, false), named("muon")}) {
    Holder holder(world_, &world_, optimizer);
    const std::vector<ParameterArena::Slot>& slots = holder.arena().slots();
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      Holder fresh(world_, &world_, optimizer);
      fresh.step(0);
      EXPECT_EQ(fresh.drift(), "");
      fresh.flip(fresh.arena().flat_values(), slot);
      if (slot % 2 == 0) fresh.step(1);
      const std::string message = fresh.drift();
      EXPECT_NE(message.find("tensor '" + slots[slot].name + "', of which"), std::string::npos)
          << message;
    }
    holder.flip(holder.optimizer().state()[0].values, 1);
    const std::string message = holder.drift();
    EXPECT_NE(message.find("'optimizer.velocity." + slots[1].name + "'"), std::string::npos)
        << message;
  }
}

TEST_F(SharedWeights, AreOneCopyOnAHost) {
  Holder holder(world_, &pair_, sgd(0.9, false));
  world_.barrier();
  float& value = floats_of(holder.arena().flat_values())[3];
  if (pair_.rank() == pair_.size() - 1) value = static_cast<float>(world_.rank());
  world_.barrier();
  EXPECT_EQ(value, static_cast<float>(world_.rank() - pair_.rank() + pair_.size() - 1));
}

}  // namespace
}  // namespace tandem::train
