// The judgement of processors, memory, clocks and the network.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "doctor_judge.hpp"
#include "tandem/comm/launchers.hpp"
#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kMaxClockSkewSeconds = 1;
// The shared-memory segment that Open MPI 4.1 creates for each rank, and a margin.
constexpr std::uint64_t kSharedMemoryOfARank = (std::uint64_t{1} << 22) * 21 / 20;
// For the threads of a GPU's rank: its steps, backward, NCCL, watchdog, metrics and checkpoints.
constexpr int kCoresOfGpu = 4;
constexpr std::size_t kMinPairs = 3;  // of a kind, below which they tell nothing of each other
// Shares of the speed of the fastest quarter of like pairs. Ranks of a host differ by caches and
// sockets.
constexpr double kSlowShareOfNetwork = 1.0 / 3;
constexpr double kSlowShareOfHost = 0.25;
constexpr double kSlowNetwork = 25e6;  // bytes per second, a fifth of gigabit Ethernet

std::map<std::string, int> ranks_by_host(const std::vector<RankFacts>& facts) {
  std::map<std::string, int> ranks;
  for (const RankFacts& each : facts) ++ranks[each.host];
  return ranks;
}

std::string speed_text(double bytes_per_second) {
  return format_bytes(static_cast<std::uint64_t>(bytes_per_second)) + "/s";
}

// "; so do 2 more pairs, all of them with n3"
std::string describe_others(const std::vector<RankFacts>& facts,
                            const std::vector<PairSpeed>& slow) {
  if (slow.size() < 2) return "";
  std::string text = "; so do " + format_quantity(static_cast<int>(slow.size()) - 1, "more pair");
  for (const int rank : {slow.front().first, slow.front().second}) {
    const std::string& host = facts_of(facts, rank).host;
    const bool in_all = std::all_of(slow.begin(), slow.end(), [&](const PairSpeed& pair) {
      return facts_of(facts, pair.first).host == host || facts_of(facts, pair.second).host == host;
    });
    if (in_all) return text + ", all of them with " + host;
  }
  return text;
}

// The slow ones of pairs that should be alike, slowest first.
std::vector<PairSpeed> slow_of(std::vector<PairSpeed> alike, double share, double least) {
  std::sort(alike.begin(), alike.end(), [](const PairSpeed& a, const PairSpeed& b) {
    return a.bytes_per_second < b.bytes_per_second;
  });
  const double usual = alike.size() < kMinPairs ? 0 : alike[alike.size() * 3 / 4].bytes_per_second;
  alike.erase(std::remove_if(alike.begin(), alike.end(),
                             [&](const PairSpeed& pair) {
                               return pair.bytes_per_second >= std::max(share * usual, least);
                             }),
              alike.end());
  return alike;
}

bool has_few_cores(const RankFacts& each) {
  return each.drives_gpu && each.allowed_cores < kCoresOfGpu * each.cpu_sharers;
}

void judge_cores_of_gpus(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  const auto few = ranks_where(facts, has_few_cores);
  if (few.empty()) return;
  const RankFacts& one = facts_of(facts, few.front());
  findings.push_back(
      {"W152",
       name_ranks(few) + (few.size() == 1 ? " drives a GPU with " : " drive GPUs with ") +
           format_quantity(one.allowed_cores, "core") + " of " + one.host +
           (one.cpu_sharers > 1 ? " for " + format_quantity(one.cpu_sharers, "rank") : "") +
           "; each needs at least " + std::to_string(kCoresOfGpu),
       "give 4 to 8: mpirun --map-by slot:PE=8 or --bind-to none, in a Slurm job "
       "--cpus-per-task=8",
       few});
}

// Open MPI's messages go through /dev/shm. The images do not need it.
void judge_shared_memory(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  std::map<std::string, int> ranks_of = ranks_by_host(facts);
  const auto wanted = [&](const RankFacts& each) {
    return static_cast<std::uint64_t>(ranks_of[each.host]) * kSharedMemoryOfARank;
  };
  const auto small = ranks_where(facts, [&](const RankFacts& each) {
    return ranks_of[each.host] > 1 &&
           (!each.has_shared_memory || each.shared_memory_bytes < wanted(each));
  });
  if (small.empty()) return;
  const RankFacts& one = facts_of(facts, small.front());
  findings.push_back(
      {"W180",
       "/dev/shm of " + one.host +
           (one.has_shared_memory ? " has " + format_bytes(one.shared_memory_bytes) + " free"
                                  : " is missing") +
           ", Open MPI needs " + format_bytes(wanted(one)) + " for the messages of " +
           format_quantity(ranks_of[one.host], "rank") + "; they go by TCP, which is slower",
       "docker run --shm-size=1g", small});
}

void judge_stale_memory(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  const auto found = ranks_where(facts, [](const RankFacts& each) { return each.stale_files > 0; });
  if (found.empty()) return;
  const RankFacts& one = facts_of(facts, found.front());
  findings.push_back(
      {"W183",
       "/dev/shm of " + one.host + " holds " + format_quantity(one.stale_files, "file") + " with " +
           format_bytes(one.stale_bytes) + " of memory that killed jobs have left there",
       "while no job starts there: " + one.stale_command, found});
}

}  // namespace

void judge_cpus(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  // A host of many ranks may well give one core to each; then none is left over.
  std::map<std::string, int> ranks_of = ranks_by_host(facts);
  const auto wasteful = ranks_where(facts, [&](const RankFacts& each) {
    return !has_few_cores(each) && each.allowed_cores == 1 &&
           each.host_cpus > each.allowed_cpus * ranks_of[each.host];
  });
  if (!wasteful.empty()) {
    const RankFacts& one = facts_of(facts, wasteful.front());
    findings.push_back(
        {"W150",
         name_ranks(wasteful) + " may use only " + (one.allowed_cpus == 1 ? "" : "one core, ") +
             std::to_string(one.allowed_cpus) + " of " + std::to_string(one.host_cpus) +
             " CPUs of " + one.host,
         std::string(comm::launcher_of_library().unbind) + ", a job of Slurm with --cpus-per-task",
         wasteful});
  }
  judge_cores_of_gpus(facts, findings);
  const auto crowded = ranks_where(facts, [](const RankFacts& each) {
    return each.threads * each.cpu_sharers > each.allowed_cpus;
  });
  if (crowded.empty()) return;
  const RankFacts& one = facts_of(facts, crowded.front());
  findings.push_back({"W151",
                      format_quantity(one.cpu_sharers, "rank") + " of " + one.host + " share " +
                          format_quantity(one.allowed_cpus, "CPU") + " with " +
                          format_quantity(one.threads, "thread") + " each",
                      "lower -np, --threads or OMP_NUM_THREADS", crowded});
}

void judge_memory(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  judge_shared_memory(facts, findings);
  judge_stale_memory(facts, findings);
  const auto wanted = [](const RankFacts& each) { return each.data_bytes + each.data_bytes / 10; };
  const auto full =
      ranks_where(facts, [&](const RankFacts& each) { return each.memory_bytes < wanted(each); });
  if (!full.empty()) {
    const RankFacts& one = facts_of(facts, full.front());
    findings.push_back({"W182",
                        one.host + " has " + format_bytes(one.memory_bytes) +
                            " of memory available, the images need " + format_bytes(wanted(one)),
                        "ask for more (sbatch --mem, docker run --memory), or take another host",
                        full});
  }
  const auto barred = ranks_where(facts, [](const RankFacts& each) { return !each.reads_sibling; });
  if (barred.empty()) return;
  findings.push_back({"W181",
                      name_ranks(barred) + " (" + facts_of(facts, barred.front()).host +
                          ") may not read the memory of other ranks (process_vm_readv)",
                      "set " + std::string(comm::launcher_of_library().no_process_reads) +
                          ", or let the container do it (--cap-add=SYS_PTRACE)",
                      barred});
}

Finding no_room_for_images(std::uint64_t bytes, bool reads_files) {
  return {"W180",
          "the ranks of a host cannot share " + format_bytes(bytes) + " of memory, so every rank " +
              (reads_files ? "reads its pictures from the data set"
                           : "keeps its own copy of the images"),
          "start them in one container, or give their containers one /dev/shm with room for the "
          "images (docker run --ipc=host)",
          {}};
}

void judge_clocks(const std::vector<RankFacts>& facts, std::vector<Finding>& findings) {
  const auto wrong = ranks_where(facts, [](const RankFacts& each) {
    return std::fabs(each.clock_offset) > kMaxClockSkewSeconds;
  });
  if (wrong.empty()) return;
  const RankFacts& one = facts_of(facts, wrong.front());
  findings.push_back({"W190",
                      "the clock of " + name_ranks(wrong) + " (" + one.host + ") is " +
                          format_fixed(std::fabs(one.clock_offset), 1) + " s " +
                          (one.clock_offset > 0 ? "ahead of" : "behind") + " that of rank 0 (" +
                          facts.front().host + ")",
                      "set it (chronyd, ntpd); training does not depend on it, times in metrics do",
                      wrong});
}

// Pairs within a host are compared with each other, and pairs between hosts.
void judge_pairs(const std::vector<RankFacts>& facts, const std::vector<PairSpeed>& pairs,
                 std::vector<Finding>& findings) {
  std::vector<PairSpeed> within;
  std::vector<PairSpeed> between;
  for (const PairSpeed& pair : pairs) {
    const RankFacts& first = facts_of(facts, pair.first);
    if (first.host != facts_of(facts, pair.second).host) {
      between.push_back(pair);
    } else if (first.cpu_sharers <= first.allowed_cpus) {  // else they wait for a CPU
      within.push_back(pair);
    }
  }
  const auto report = [&](const std::vector<PairSpeed>& slow, const std::string& expected,
                          const std::string& fix) {
    if (slow.empty()) return;
    const PairSpeed& slowest = slow.front();
    std::set<int> ranks;
    for (const PairSpeed& pair : slow) ranks.insert({pair.first, pair.second});
    findings.push_back(
        {"W120",
         "ranks " + std::to_string(slowest.first) + " (" + facts_of(facts, slowest.first).host +
             ") and " + std::to_string(slowest.second) + " (" +
             facts_of(facts, slowest.second).host + ") exchange " +
             speed_text(slowest.bytes_per_second) + ", " + expected + describe_others(facts, slow),
         fix,
         {ranks.begin(), ranks.end()}});
  };
  const auto fastest_of = [](const std::vector<PairSpeed>& alike) {
    double fastest = 0;
    for (const PairSpeed& pair : alike) fastest = std::max(fastest, pair.bytes_per_second);
    return speed_text(fastest);
  };
  report(slow_of(within, kSlowShareOfHost, 0), "the fastest pair of a host " + fastest_of(within),
         "check the other programs on that host");
  report(slow_of(between, kSlowShareOfNetwork, kSlowNetwork),
         "the fastest pair of hosts " + fastest_of(between),
         "check cable and switch of these hosts, and the network that MPI uses (" +
             std::string(comm::launcher_of_library().choose_interface) + ")");
}

}  // namespace tandem::app
