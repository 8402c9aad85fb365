// That the size of buckets is the faster one, the same on every rank, and that looking for it
// leaves no trace.
#include "tandem/train/bucket_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/mpi_test.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::train {
namespace {

// Far more than steps of a machine with other work differ by; there are several small ones a step.
constexpr std::chrono::milliseconds kSlowLarge{200};
constexpr std::chrono::milliseconds kSlowStarted{40};

// MPI with a delay: of the exchange after backward, which every size ends with, in proportion to
// its bytes, or of each exchange that is started before.
class Delayed final : public comm::ForwardingCollectives {
 public:
  enum class Slow { kLargeOnes, kStartedOnes };
  Delayed(comm::Collectives& mpi, Slow slow) : ForwardingCollectives(mpi), slow_(slow) {}
  std::string name() const override { return "delayed"; }

 private:
  void do_all_reduce(comm::Buffer values) override {
    constexpr std::size_t kLarge = 1 << 20;  // floats
    if (slow_ == Slow::kLargeOnes && values.size > kLarge) std::this_thread::sleep_for(kSlowLarge);
    inner().all_reduce(values);
  }
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override {
    if (slow_ == Slow::kStartedOnes) std::this_thread::sleep_for(kSlowStarted);
    return inner().iall_reduce(values);
  }

  const Slow slow_;
};

class BucketChoice : public ::testing::Test {
 protected:
  // Also expects that the choice leaves weights and buffers as they were.
  double choose(Delayed::Slow slow) {
    Delayed carrier(world_, slow);
    ProbeConfig probe;
    probe.images = 4;
    probe.shape = {3, 16, 16};
    const std::string before = model::weights_sha256(*network_);
    const double chosen = measure_bucket_mb(world_, carrier, arena_, *network_, probe);
    EXPECT_EQ(model::weights_sha256(*network_), before);
    EXPECT_EQ(arena_.flat_gradients().abs().sum().item<float>(), 0);
    return chosen;
  }
  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  // 26 MB of gradients, and BatchNorm.
  model::NetworkPtr network_ = model::make_network("resnet9", {3, 16, 16}, 10);
  ParameterArena arena_{*network_, true};
};

TEST_F(BucketChoice, TakesOneBucketWhereEachMoreCosts) {
  EXPECT_EQ(choose(Delayed::Slow::kStartedOnes), 0);
}

TEST_F(BucketChoice, TakesSmallerBucketsWhereALargeOneCosts) {
  const double chosen = choose(Delayed::Slow::kLargeOnes);
  EXPECT_EQ(chosen > 0, world_.size() > 1) << chosen;
  EXPECT_EQ(world_.all_reduce_value(chosen, comm::Reduction::kMin),
            world_.all_reduce_value(chosen, comm::Reduction::kMax));
}

}  // namespace
}  // namespace tandem::train
