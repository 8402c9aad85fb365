#include "doctor_judge.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kMostClockSeconds = 1;
constexpr std::uint64_t kUsualSharedMemory = std::uint64_t{1} << 30;
constexpr double kSlowShare = 0.5;       // of the median of like pairs
constexpr std::size_t kFewestPairs = 3;  // of a kind, below which a median says nothing
constexpr std::size_t kMostNamed = 4;

using Facts = std::vector<RankFacts>;
using Findings = std::vector<Finding>;

// "rank 3", "ranks 0, 1 and 5 more"
std::string name_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i) {
    names.push_back(std::to_string(ranks[i]));
  }
  std::string text = (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
  if (ranks.size() > kMostNamed) {
    text += " and " + std::to_string(ranks.size() - kMostNamed) + " more";
  }
  return text;
}

std::vector<int> ranks_where(const Facts& facts,
                             const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> ranks;
  for (const RankFacts& each : facts) {
    if (holds(each)) ranks.push_back(each.rank);
  }
  return ranks;
}

// Names the first rank that differs from rank 0, and both values.
void compare(const Facts& facts, const char* code, const char* what, const char* cure,
             std::string RankFacts::*value, Findings& findings) {
  const std::string& expected = facts.front().*value;
  const auto ranks =
      ranks_where(facts, [&](const RankFacts& each) { return each.*value != expected; });
  if (ranks.empty()) return;
  const RankFacts& other = facts[static_cast<std::size_t>(ranks.front())];
  findings.push_back({code,
                      std::string(what) + " of " + name_ranks(ranks) + " (" + other.host +
                          ") differs from that of rank 0 (" + facts.front().host + "): '" +
                          other.*value + "', not '" + expected + "'",
                      cure, ranks});
}

void judge_launch(const Facts& facts, Findings& findings) {
  const RankFacts& first = facts.front();
  if (first.world > 1 || first.launched <= 1) return;
  findings.push_back({"E101",
                      "the launcher started " + std::to_string(first.launched) +
                          " processes, MPI sees one in each",
                      "under Slurm use srun --mpi=pmix (srun --mpi=list shows what there is), or "
                      "the mpirun of the MPI that tandem was built with",
                      {first.rank}});
}

void judge_gpus(const Facts& facts, Findings& findings) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> holders;
  for (const RankFacts& each : facts) {
    if (!each.gpu.empty()) holders[{each.host, each.gpu}].push_back(each.rank);
  }
  for (const auto& [place, ranks] : holders) {
    if (ranks.size() < 2) continue;
    findings.push_back({"E110",
                        name_ranks(ranks) + " on " + place.first + " hold one GPU, " + place.second,
                        "start one rank for each GPU, and let each see all of its host "
                        "(--gpus-per-node, not --gpus-per-task), or name them by --gpu-ids",
                        ranks});
  }
  const auto silent =
      ranks_where(facts, [](const RankFacts& each) { return !each.nvml_error.empty(); });
  if (silent.empty()) return;
  const RankFacts& one = facts[static_cast<std::size_t>(silent.front())];
  findings.push_back(
      {"W111",
       "NVML does not answer " + name_ranks(silent) + " on " + one.host + ": " + one.nvml_error,
       "metrics of GPUs will be missing there; give a container the driver's tools "
       "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
       silent});
}

void judge_cpus(const Facts& facts, Findings& findings) {
  // A host of many ranks may well give one CPU to each; then none is left over.
  std::map<std::string, int> ranks_of;
  for (const RankFacts& each : facts) ++ranks_of[each.host];
  const auto wasteful = ranks_where(facts, [&](const RankFacts& each) {
    return each.allowed_cpus == 1 && each.host_cpus > ranks_of[each.host];
  });
  if (!wasteful.empty()) {
    const RankFacts& one = facts[static_cast<std::size_t>(wasteful.front())];
    findings.push_back({"W150",
                        name_ranks(wasteful) + " may use 1 of " + std::to_string(one.host_cpus) +
                            " CPUs of " + one.host,
                        "mpirun binds ranks to cores where there are at most two of them: "
                        "--bind-to none, or --map-by slot:PE=N; under Slurm --cpus-per-task",
                        wasteful});
  }
  const auto crowded = ranks_where(facts, [](const RankFacts& each) {
    return each.threads * each.cpu_sharers > each.allowed_cpus;
  });
  if (crowded.empty()) return;
  const RankFacts& one = facts[static_cast<std::size_t>(crowded.front())];
  findings.push_back(
      {"W151",
       std::to_string(one.cpu_sharers) + (one.cpu_sharers == 1 ? " rank" : " ranks") + " of " +
           one.host + " run " + std::to_string(one.threads) + " threads each on " +
           std::to_string(one.allowed_cpus) + (one.allowed_cpus == 1 ? " CPU" : " CPUs"),
       "lower -np, --threads or OMP_NUM_THREADS", crowded});
}

void judge_data(const Facts& facts, Findings& findings) {
  const auto blind =
      ranks_where(facts, [](const RankFacts& each) { return !each.data_error.empty(); });
  if (!blind.empty()) {
    const RankFacts& one = facts[static_cast<std::size_t>(blind.front())];
    findings.push_back(
        {"E170",
         "--data cannot be used by " + name_ranks(blind) + " (" + one.host + "): " + one.data_error,
         "every host reads the file itself: use a path that all share, or copy it", blind});
  } else {
    compare(facts, "E170", "the digest of --data", "copy the file again, then tandem verify",
            &RankFacts::data_digest, findings);
  }
  const auto locked =
      ranks_where(facts, [](const RankFacts& each) { return !each.lock_error.empty(); });
  if (locked.empty()) return;
  const RankFacts& one = facts[static_cast<std::size_t>(locked.front())];
  findings.push_back({"W171",
                      "--data cannot be locked by " + name_ranks(locked) + " (" + one.host +
                          "): " + one.lock_error,
                      "set HDF5_USE_FILE_LOCKING=FALSE, or copy the file to a local disk", locked});
}

void judge_memory(const Facts& facts, const Measurements& measurements, Findings& findings) {
  const std::uint64_t images = measurements.image_bytes;
  const std::uint64_t wanted = images > 0 ? images + images / 10 : kUsualSharedMemory;
  const auto small = ranks_where(facts, [&](const RankFacts& each) {
    return !each.has_shared_memory || each.shared_memory_bytes < wanted;
  });
  if (!small.empty()) {
    const RankFacts& one = facts[static_cast<std::size_t>(small.front())];
    findings.push_back(
        {"W180",
         "/dev/shm of " + one.host +
             (one.has_shared_memory ? " has " + format_bytes(one.shared_memory_bytes) + " free, " +
                                          format_bytes(wanted) + " are of use"
                                    : " is missing"),
         "every rank would keep its own copy of the images; enlarge it (docker run "
         "--shm-size=1g)",
         small});
  }
  const auto barred =
      ranks_where(facts, [](const RankFacts& each) { return !each.reads_siblings; });
  if (barred.empty()) return;
  const RankFacts& one = facts[static_cast<std::size_t>(barred.front())];
  findings.push_back({"W181",
                      name_ranks(barred) + " (" + one.host +
                          ") may not read the memory of other ranks (process_vm_readv)",
                      "set OMPI_MCA_btl_vader_single_copy_mechanism=none, or let the container "
                      "do it (--cap-add=SYS_PTRACE)",
                      barred});
}

void judge_clocks(const Facts& facts, Findings& findings) {
  const auto wrong = ranks_where(facts, [](const RankFacts& each) {
    return std::fabs(each.clock_offset) > kMostClockSeconds;
  });
  if (wrong.empty()) return;
  const RankFacts& one = facts[static_cast<std::size_t>(wrong.front())];
  findings.push_back(
      {"W190",
       "the clock of " + one.host + " is " + format_fixed(std::fabs(one.clock_offset), 1) + " s " +
           (one.clock_offset > 0 ? "ahead of" : "behind") + " that of " + facts.front().host,
       "set it (chronyd, ntpd); training does not depend on it, times in metrics do", wrong});
}

// Pairs within a host are compared with each other, and pairs between hosts.
void judge_pairs(const Facts& facts, const std::vector<PairSpeed>& pairs, Findings& findings) {
  for (const bool within : {true, false}) {
    std::vector<PairSpeed> alike;
    for (const PairSpeed& pair : pairs) {
      const std::string& first = facts[static_cast<std::size_t>(pair.first)].host;
      const std::string& second = facts[static_cast<std::size_t>(pair.second)].host;
      if ((first == second) == within) alike.push_back(pair);
    }
    if (alike.size() < kFewestPairs) continue;
    std::sort(alike.begin(), alike.end(), [](const PairSpeed& a, const PairSpeed& b) {
      return a.bytes_per_second < b.bytes_per_second;
    });
    const double median = alike[alike.size() / 2].bytes_per_second;
    const PairSpeed& slowest = alike.front();
    if (slowest.bytes_per_second >= kSlowShare * median) continue;
    findings.push_back(
        {"W120",
         "ranks " + std::to_string(slowest.first) + " (" +
             facts[static_cast<std::size_t>(slowest.first)].host + ") and " +
             std::to_string(slowest.second) + " (" +
             facts[static_cast<std::size_t>(slowest.second)].host + ") exchange " +
             format_bytes(static_cast<std::uint64_t>(slowest.bytes_per_second)) +
             "/s, half of all pairs at least " + format_bytes(static_cast<std::uint64_t>(median)) +
             "/s",
         within ? "see what else runs on that host"
                : "see the cable and switch of these hosts, and which network carries MPI "
                  "(--mca btl_tcp_if_include)",
         {slowest.first, slowest.second}});
  }
}

}  // namespace

std::vector<Finding> judge(const std::vector<RankFacts>& facts, const Measurements& measurements) {
  Findings findings;
  if (facts.empty()) return findings;
  judge_launch(facts, findings);
  judge_gpus(facts, findings);
  judge_cpus(facts, findings);
  compare(facts, "E160", "the version of the program", "install the same on every host",
          &RankFacts::versions, findings);
  compare(facts, "E161", "the command line", "start every rank with the same options",
          &RankFacts::command_line, findings);
  judge_data(facts, findings);
  judge_memory(facts, measurements, findings);
  judge_clocks(facts, findings);
  judge_pairs(facts, measurements.pairs, findings);
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.is_error(); });
  return findings;
}

}  // namespace tandem::app
