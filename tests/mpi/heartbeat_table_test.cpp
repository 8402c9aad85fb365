// Each rank sees the progress of all others, on simulated hosts of two ranks each, and the watchdog
// warns of the rank that stays behind.
#include "tandem/comm/heartbeat_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "support/mpi_test.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::comm {
namespace {

constexpr auto kAtMost = std::chrono::seconds(20);
constexpr auto kTimeToTell = std::chrono::milliseconds(300);

struct Job {
  MpiCommunicator world = MpiCommunicator::world();
  MpiCommunicator node = world.split(world.rank() / 2);
  Topology topology = discover_topology(world, node);
  HeartbeatTable heartbeats{world, node, topology};
};

// Whether `seen` becomes true while this rank calls exchange().
template <typename Seen>
bool comes_to_be(HeartbeatTable& heartbeats, const Seen& seen) {
  const auto end = std::chrono::steady_clock::now() + kAtMost;
  while (!seen()) {
    if (std::chrono::steady_clock::now() > end) return false;
    heartbeats.beat();
    heartbeats.exchange();
  }
  // Other ranks may not have received this rank's last rows yet.
  const auto told = std::chrono::steady_clock::now() + kTimeToTell;
  while (std::chrono::steady_clock::now() < told) heartbeats.exchange();
  return true;
}

TEST(HeartbeatTable, ShowsEveryRankWhereAllAre) {
  Job job;
  const int rank = job.world.rank();
  std::vector<std::int64_t> processes(static_cast<std::size_t>(job.world.size()));
  processes[static_cast<std::size_t>(rank)] = ::getpid();
  job.world.all_reduce(Span<std::int64_t>(processes));
  job.heartbeats.report(10 + static_cast<std::uint64_t>(rank), Phase::kCompute);
  EXPECT_TRUE(comes_to_be(job.heartbeats, [&] {
    for (const RankStatus& each : job.heartbeats.view()) {
      if (each.step != 10 + static_cast<std::uint64_t>(each.rank)) return false;
    }
    return true;
  }));
  for (const RankStatus& each : job.heartbeats.view()) {
    EXPECT_EQ(each.table, each.rank / 2 * 2);
    EXPECT_EQ(each.phase, Phase::kCompute);
    EXPECT_EQ(each.process, processes[static_cast<std::size_t>(each.rank)]);
    EXPECT_GT(each.reports, 0U);
  }
  job.heartbeats.leave_mpi();
}

TEST(HeartbeatTable, KeepsTheStepOfARankThatEntersAPhaseAndCountsItsReports) {
  Job job;
  const auto mine = [&] {
    return job.heartbeats.view()[static_cast<std::size_t>(job.world.rank())];
  };
  job.heartbeats.report(3, Phase::kData);
  const std::uint64_t reports = mine().reports;
  job.heartbeats.enter(Phase::kCheckpoint);
  job.heartbeats.touch();
  EXPECT_EQ(mine().step, 3U);
  EXPECT_EQ(mine().phase, Phase::kCheckpoint);
  EXPECT_EQ(mine().reports, reports + 2);
  const std::uint64_t beats = mine().beats;
  job.heartbeats.beat();
  EXPECT_EQ(mine().beats, beats + 1);
  job.heartbeats.leave_mpi();
}

TEST(HeartbeatTable, TellsEveryRankWithWhichCodeTheLastEndsTheJob) {
  Job job;
  const int last = job.world.size() - 1;
  const auto code_of_last = [&] {
    return job.heartbeats.view()[static_cast<std::size_t>(last)].end_code;
  };
  EXPECT_EQ(code_of_last(), 0);
  job.world.barrier();
  if (job.world.rank() == last) job.heartbeats.announce_end(ExitCode::kUnavailable);
  EXPECT_TRUE(comes_to_be(job.heartbeats, [&] { return code_of_last() == 69; }));
  job.heartbeats.leave_mpi();
}

TEST(HeartbeatTable, ExpectsNothingOfOtherHostsWithoutMpi) {
  Job job;
  job.heartbeats.report(1, Phase::kShutdown);
  job.node.barrier();
  EXPECT_FALSE(job.heartbeats.is_host_done());
  job.world.barrier();
  job.heartbeats.leave_mpi();
  for (const RankStatus& each : job.heartbeats.view()) {
    const bool is_here = each.rank / 2 == job.world.rank() / 2;
    EXPECT_EQ(each.phase, is_here ? Phase::kShutdown : Phase::kDone);
  }
  job.node.barrier();
  job.heartbeats.enter(Phase::kDone);
  job.node.barrier();
  EXPECT_TRUE(job.heartbeats.is_host_done());
}

// The words of a watchdog's warning.
class Warning {
 public:
  WatchdogSettings settings(int ranks) {
    WatchdogSettings settings;
    settings.limits = {0.3, 0};
    settings.hosts.assign(static_cast<std::size_t>(ranks), "here");
    settings.warn = [this](const std::string& words) {
      const std::lock_guard<std::mutex> lock(mutex_);
      words_ = words;
      said_.notify_all();
    };
    return settings;
  }
  std::string wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    said_.wait_for(lock, kAtMost, [this] { return !words_.empty(); });
    return words_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable said_;
  std::string words_;
};

TEST(Watchdog, WarnsOfTheRankThatIsFurthestBehind) {
  Job job;
  Warning warning;
  const int last = job.world.size() - 1;
  const bool is_last = job.world.rank() == last;
  job.heartbeats.report(is_last ? 4 : 5, is_last ? Phase::kData : Phase::kExchange);
  job.world.barrier();
  {
    Watchdog watchdog(job.heartbeats, job.world.rank(), warning.settings(job.world.size()));
    // The lowest rank on the culprit's host reports.
    if (job.world.rank() == last / 2 * 2) {
      const std::string words = warning.wait();
      EXPECT_NE(words.find("rank " + std::to_string(last) + " (here, process "), std::string::npos)
          << words;
      EXPECT_NE(words.find(": step 4, data"), std::string::npos) << words;
    }
    job.world.barrier();
    watchdog.stop_exchange();
    job.world.barrier();
  }
  job.heartbeats.leave_mpi();
}

}  // namespace
}  // namespace tandem::comm
