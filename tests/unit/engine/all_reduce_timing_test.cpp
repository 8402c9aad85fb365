#include "engine/bench/all_reduce_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/lone_communicator.hpp"

namespace tandem::app {
namespace {

TEST(AllReduceTiming, SumsGrowByFourUpToTheMost) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_between(1024, 1024), (Sizes{1024}));
  EXPECT_EQ(sizes_between(4, 64), (Sizes{4, 16, 64}));
  EXPECT_EQ(sizes_between(4, 100), (Sizes{4, 16, 64, 100}));
}

// nccl-tests, doc/PERFORMANCE.md: an all-reduce of S bytes by n ranks in t seconds.
TEST(AllReduceTiming, BandwidthsAreThoseOfNcclTests) {
  EXPECT_EQ(algorithm_bandwidth(1000, 0.5), 2000);
  EXPECT_EQ(bus_bandwidth(1000, 0.5, 4), 2000 * 2 * 3.0 / 4);
  EXPECT_EQ(bus_bandwidth(1000, 0.5, 1), 0);
}

// A rank's own sums, which are its values; notes where they are made.
class OwnSums : public testing::LoneCommunicator {
 public:
  int count = 0;
  bool are_all_there = true;
  const float* there = nullptr;

 protected:
  void do_all_reduce_by(comm::Reduction, comm::Buffer values) override {
    ++count;
    are_all_there = are_all_there && values.data == there;
  }
};

// As in the memory of a GPU, which the host reaches by copies alone and has to wait for.
TEST(AllReduceTiming, SumsElsewhereAreCheckedByCopiesAndWaitedFor) {
  std::vector<float> host(8);
  std::vector<float> elsewhere(8, -1);
  testing::LoneCommunicator world;
  OwnSums sums;
  sums.there = elsewhere.data();
  int finished = 0;
  AllReduceTask task{{host.data(), host.size()}, 4 * sizeof(float), 0, {}, {}};
  task.place = {elsewhere.data(),
                [&](std::size_t count) { std::copy_n(host.begin(), count, elsewhere.begin()); },
                [&](std::size_t count) { std::copy_n(elsewhere.begin(), count, host.begin()); },
                [&] { ++finished; }};
  const AllReduceTiming timing = measure_all_reduce(world, sums, task);
  EXPECT_EQ(timing.wrong, 0U);
  EXPECT_TRUE(sums.are_all_there);
  EXPECT_EQ(finished, timing.pairs + 1) << "each block of sums, and the first one";
  EXPECT_EQ(elsewhere, (std::vector<float>{0, 0, 0, 0, -1, -1, -1, -1}));

  task.place.put = [](std::size_t) {};  // what is added there is not what the host expects
  EXPECT_GT(measure_all_reduce(world, sums, task).wrong, 0U);
}

}  // namespace
}  // namespace tandem::app
