#include "doctor_judge.hpp"

#include <algorithm>
#include <map>

#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

using Facts = std::vector<RankFacts>;
using Findings = std::vector<Finding>;

// Joins several lines into one.
std::string on_one_line(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  std::transform(lines.begin(), lines.end(), lines.begin(), trim);
  return join(lines, "; ");
}

// Names the first rank that differs from rank 0, and both values.
void compare(const Facts& facts, const char* code, const char* what, const char* fix,
             std::string RankFacts::*value, Findings& findings) {
  const std::string& expected = facts.front().*value;
  const auto ranks =
      ranks_where(facts, [&](const RankFacts& each) { return each.*value != expected; });
  if (ranks.empty()) return;
  const RankFacts& other = facts_of(facts, ranks.front());
  findings.push_back({code,
                      std::string(what) + " of " + name_ranks(ranks) + " (" + other.host +
                          ") differs from that of rank 0 (" + facts.front().host + "): '" +
                          other.*value + "', not '" + expected + "'",
                      fix, ranks});
}

void judge_launch(const Facts& facts, Findings& findings) {
  const RankFacts& first = facts.front();
  if (first.world == 1 && first.launched > 1) {
    findings.push_back(lone_ranks(first.launched, first.rank));
  } else if (first.world == 1 && first.torch_world > 1) {
    const std::string ranks = std::to_string(first.torch_world);
    findings.push_back({"W102",
                        "WORLD_SIZE is " + ranks + ", and this job has one rank",
                        "tandem reads no variable of torchrun; start " + ranks +
                            " ranks by mpirun -np " + ranks + " or srun, or unset WORLD_SIZE",
                        {first.rank}});
  }
}

void judge_gpus(const Facts& facts, const std::vector<std::string>& warnings, Findings& findings) {
  std::map<std::string, std::vector<int>> holders;
  for (const RankFacts& each : facts) {
    if (!each.gpu.empty()) holders[each.gpu].push_back(each.rank);
  }
  bool is_shared = false;
  for (const auto& [gpu, ranks] : holders) {
    if (ranks.size() < 2) continue;
    is_shared = true;
    const RankFacts& one = facts_of(facts, ranks.front());
    findings.push_back({"E110",
                        name_ranks(ranks) + " on " + one.host + " hold one GPU, " + one.gpu_name,
                        "start one rank for each GPU, and let each see all of its host "
                        "(--gpus-per-node, not --gpus-per-task), or name them by --gpu-ids",
                        ranks});
  }
  if (!is_shared) {
    for (const std::string& warning : warnings) {
      findings.push_back({"W112",
                          "training would warn: " + on_one_line(warning),
                          "tandem info shows the GPUs that each rank sees",
                          {0}});
    }
  }
  const auto silent =
      ranks_where(facts, [](const RankFacts& each) { return !each.nvml_error.empty(); });
  if (silent.empty()) return;
  const RankFacts& one = facts_of(facts, silent.front());
  findings.push_back(
      {"W111",
       "NVML reports nothing to " + name_ranks(silent) + " on " + one.host + ": " + one.nvml_error,
       "metrics of GPUs will be missing there; give a container the driver's tools "
       "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
       silent});
}

void judge_data(const Facts& facts, Findings& findings) {
  const auto blind =
      ranks_where(facts, [](const RankFacts& each) { return !each.data_error.empty(); });
  if (!blind.empty()) {
    const RankFacts& one = facts_of(facts, blind.front());
    const bool is_of_all = blind.size() == facts.size();
    findings.push_back(
        {"E170",
         "--data cannot be used by " + name_ranks(blind) + " (" + one.host + "): " + one.data_error,
         is_of_all ? "name a data set that tandem pack made, and that tandem verify finds whole"
                   : "every host reads the file itself: use a path that all share, or copy it",
         blind});
  } else {
    compare(facts, "E170", "the digest of --data", "copy the file again, then tandem verify",
            &RankFacts::data_digest, findings);
  }
  const auto locked =
      ranks_where(facts, [](const RankFacts& each) { return !each.lock_error.empty(); });
  if (locked.empty()) return;
  const RankFacts& one = facts_of(facts, locked.front());
  findings.push_back({"W171",
                      "--data cannot be locked by " + name_ranks(locked) + " (" + one.host +
                          "): " + one.lock_error,
                      "wait until no process writes it; if the file system has no locks, set "
                      "HDF5_USE_FILE_LOCKING=FALSE for h5py and older HDF5",
                      locked});
}

}  // namespace

Finding lone_ranks(int launched, int rank) {
  return {
      "E101",
      "the launcher started " + std::to_string(launched) + " processes that are not in one MPI job",
      "under Slurm use srun --mpi=pmix (srun --mpi=list shows what there is), or the mpirun of "
      "the MPI that tandem was built with",
      {rank}};
}

std::vector<Finding> judge(const std::vector<RankFacts>& facts, const Measurements& measurements) {
  Findings findings;
  if (facts.empty()) return findings;
  judge_launch(facts, findings);
  judge_gpus(facts, measurements.gpu_warnings, findings);
  judge_pairs(facts, measurements.pairs, findings);
  judge_cpus(facts, findings);
  compare(facts, "E160", "the version of the program", "install the same on every host",
          &RankFacts::versions, findings);
  compare(facts, "E161", "the command line", "start every rank with the same options",
          &RankFacts::command_line, findings);
  judge_data(facts, findings);
  judge_memory(facts, findings);
  judge_clocks(facts, findings);
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.is_error(); });
  return findings;
}

}  // namespace tandem::app
