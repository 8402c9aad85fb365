// Ends its job, on purpose: the GPUs' connection of one rank fails while the main threads wait.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/lone_communicator.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/watchdog.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem::comm {
namespace {

struct FailingCarrier final : testing::LoneCommunicator {
  void check() override { throw UnavailableError("the connection is gone"); }
};

TEST(Watchdog, EndsTheJobWhereTheCarrierOfTheLastRankFails) {
  REQUIRE_RANKS(2);
  auto world = MpiCommunicator::world();
  auto node = world.node();
  const Topology topology = discover_topology(world, node);
  HeartbeatTable heartbeats(world, node, topology);
  WatchdogSettings settings;
  settings.hosts.assign(static_cast<std::size_t>(world.size()), "here");
  settings.report_end = print_error;
  Watchdog watchdog(heartbeats, world.rank(), settings);
  FailingCarrier failing;
  testing::LoneCommunicator sound;
  const bool is_last = world.rank() + 1 == world.size();
  const Watchdog::ConnectionCheck watched(watchdog,
                                          is_last ? static_cast<Collectives&>(failing) : sound);
  std::this_thread::sleep_for(std::chrono::seconds(20));
  FAIL() << "the job went on";
}

}  // namespace
}  // namespace tandem::comm
