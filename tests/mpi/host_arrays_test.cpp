#include "tandem/comm/host_arrays.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/mpi_test.hpp"

namespace tandem::comm {
namespace {

constexpr std::size_t kSize = 5003;  // not whole pages

float value_of(std::size_t i) { return static_cast<float>(i % 997); }

// Every two ranks are a host; of three ranks the last is alone on its own.
class HostArraysTest : public ::testing::Test {
 protected:
  MpiCommunicator world_ = MpiCommunicator::world();
  MpiCommunicator host_ = world_.split(world_.rank() / 2);
};

TEST_F(HostArraysTest, ARankSeesWhatAnotherRankOfItsHostWrites) {
  const auto arrays = HostArrays::make(world_, host_, 2, kSize);
  ASSERT_NE(arrays, nullptr);
  float* const second = arrays->array(1).get();
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(second[i], 0) << i;
  arrays->synchronize();
  if (host_.rank() == host_.size() - 1) second[kSize - 1] = static_cast<float>(world_.rank() + 1);
  arrays->synchronize();
  EXPECT_EQ(second[kSize - 1], world_.rank() / 2 * 2 + host_.size());
  EXPECT_EQ(arrays->array(0).get()[kSize - 1], 0);
}

TEST_F(HostArraysTest, EveryHostGetsTheValuesOfRank0) {
  const auto arrays = HostArrays::make(world_, host_, 1, kSize);
  float* const values = arrays->array(0).get();
  if (host_.rank() == 0) {
    for (std::size_t i = 0; i < kSize; ++i) values[i] = world_.rank() == 0 ? value_of(i) : -1;
  }
  arrays->broadcast({values, kSize});
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(values[i], value_of(i)) << i;
}

TEST_F(HostArraysTest, AnArrayKeepsItsMemory) {
  auto arrays = HostArrays::make(world_, host_, 3, kSize);
  const std::shared_ptr<float> last = arrays->array(2);
  arrays.reset();
  last.get()[kSize - 1] = 1;
  EXPECT_EQ(last.get()[kSize - 1], 1);
}

TEST_F(HostArraysTest, ThereAreNoneWhereOneRankCannotShare) {
  rlimit before{};
  const bool is_last = world_.rank() == world_.size() - 1;
  if (is_last) {
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  const auto arrays = HostArrays::make(world_, host_, 1, kSize);
  if (is_last) setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(arrays, nullptr);
}

}  // namespace
}  // namespace tandem::comm
