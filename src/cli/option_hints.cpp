#include "option_hints.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// The other program's option, and tandem's, with its value if only one fits.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"amp", "precision bf16"},
    {"arch", "model"},
    {"checkpoint", "resume"},
    {"cuda", "device cuda"},
    {"dataname", "name"},
    {"datapath", "input"},
    {"device-ids", "gpu-ids"},
    {"dist-backend", "backend"},
    {"fp16", "precision fp16"},
    {"gpu-idx", "gpu-ids"},
    {"gpu-per-proc", "ranks-per-node"},
    {"grad-clip", "clip-norm"},
    {"gradient-accumulation-steps", "accumulate"},
    {"host", "hosts"},
    {"learning-rate", "lr"},
    {"lr-gamma", "step-gamma"},
    {"lr-policy", "schedule"},
    {"lr-scheduler", "schedule"},
    {"lr-steps", "step-epochs"},
    {"max-epochs", "epochs"},
    {"max-grad-norm", "clip-norm"},
    {"nnode", "nodes"},
    {"nnodes", "nodes"},
    {"no-cuda", "device cpu"},
    {"node", "nodes"},
    {"nproc-per-node", "ranks-per-node"},
    {"num-epochs", "epochs"},
    {"output-dir", "runs-dir"},
    {"pretrained", "init-from"},
    {"print-freq", "log-every"},
    {"print-freq-tr", "log-every"},
    {"replica-batch-size", "batch-size"},
    {"save-dir", "runs-dir"},
    {"save-epochs", "checkpoint-every"},
    {"scheduler", "schedule"},
    {"val-split", "validation-split"},
    {"warmup-length", "warmup-epochs"},
    {"wd", "weight-decay"},
};

// Theirs, and what has no option here.
constexpr std::pair<const char*, const char*> kAnswers[] = {
    {"backend", "only tandem train exchanges gradients"},
    {"dataname",
     "tandem pack makes one file of a data set, which knows its name; --data names the file"},
    {"datapath", "tandem pack makes one file of a folder, once; --data names the file"},
    {"dense-init-policy", "weights begin as those of PyTorch do; --seed gives others"},
    {"device", "this command computes on CPU cores"},
    {"dist-url", "MPI connects the ranks; no address is needed"},
    {"evaluate", "tandem eval tests a model"},
    {"gpu-per-proc",
     "the launcher starts one rank per GPU: mpirun --host n1:4,n2:4, or sbatch --ntasks-per-node"},
    {"gpus", "the launcher starts one rank per GPU: mpirun -np N; --gpu-ids says which"},
    {"host", "MPI connects the ranks; no address is needed"},
    {"init-method", "MPI connects the ranks; no address is needed"},
    {"initial-epoch", "--resume goes on with the epoch of the checkpoint"},
    {"local-rank", "MPI numbers the ranks"},
    {"logterminal",
     "what is printed goes where the shell sends it (2>&1 | tee log), numbers into metrics.jsonl"},
    {"master", "MPI connects the ranks; no address is needed"},
    {"master-addr", "MPI connects the ranks; no address is needed"},
    {"master-port", "MPI connects the ranks; no port is needed"},
    {"max-restarts", "jobs/supervise.sh N starts an mpirun again, jobs/requeue.sbatch a job"},
    {"nnode", "the launcher places ranks: mpirun --hostfile, or sbatch --nodes"},
    {"nnodes", "the launcher places ranks: mpirun --hostfile, or sbatch --nodes"},
    {"node", "MPI numbers the ranks; start one mpirun, not one command per machine"},
    {"node-rank", "MPI numbers the ranks; start one mpirun, not one command per machine"},
    {"nodes", "the launcher places ranks: mpirun --hostfile, or sbatch --nodes"},
    {"nproc-per-node", "the launcher starts the ranks: mpirun -np N"},
    {"num-workers", "images are in memory, and a thread of each rank prepares the next batch"},
    {"print-freq-ts", "an evaluation is one line; --eval-every says how often there is one"},
    {"rank", "MPI numbers the ranks"},
    {"rdzv-backend", "MPI connects the ranks: mpirun -np N"},
    {"rdzv-endpoint", "MPI connects the ranks; no address is needed"},
    {"report-to", "python/to_tracker.py RUN --to wandb exports a run, also while it trains"},
    {"scale-coslr", "--schedule cosine falls to zero over the whole training"},
    {"standalone", "MPI connects the ranks: mpirun -np N"},
    {"with-tracking", "python/to_tracker.py RUN --to wandb exports a run, also while it trains"},
    {"workers", "images are in memory, and a thread of each rank prepares the next batch"},
    {"world-size", "MPI counts the ranks: mpirun -np N"},
};

// Values: theirs and ours.
constexpr std::pair<const char*, const char*> kOtherValues[] = {
    {"16", "fp16"},      {"32", "fp32"},      {"adam", "adamw"},  {"bfloat16", "bf16"},
    {"float16", "fp16"}, {"float32", "fp32"}, {"gloo", "mpi"},    {"gpu", "cuda"},
    {"half", "fp16"},    {"mixed", "bf16"},   {"nvidia", "cuda"},
};

template <typename Table>
const char* look_up(const Table& table, const std::string& name) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& entry) { return name == entry.first; });
  return found == std::end(table) ? nullptr : found->second;
}

bool has(const OptionTable& table, const std::string& name) {
  return find_option(table, name) != nullptr;
}

std::vector<std::string> option_names(const OptionTable& table) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : table) {
    names.push_back(spec.name);
    if (spec.placeholder.empty()) names.push_back("no-" + spec.name);
  }
  names.emplace_back("help");
  return names;
}

// The only option whose first words these are; "" where there is none, or more than one.
std::string begun_by(const std::string& name, const OptionTable& table) {
  std::string found;
  for (const OptionSpec& spec : table) {
    if (spec.name.rfind(name + "-", 0) != 0) continue;
    if (!found.empty()) return "";
    found = spec.name;
  }
  return found;
}

}  // namespace

std::string unknown_option(const std::string& name, const OptionTable& table) {
  const std::string unknown = "--" + name + " is not an option";
  const char* ours = look_up(kOtherNames, name);
  if (ours != nullptr && has(table, split(ours, ' ').front())) {
    return unknown + "; here it is --" + ours;
  }
  const std::string begun = begun_by(name, table);
  if (!begun.empty()) return unknown + "; did you mean --" + begun + "?";
  if (const char* answer = look_up(kAnswers, name)) return unknown + ": " + answer;
  const auto suggestion = nearest(name, option_names(table));
  return unknown + (suggestion ? "; did you mean --" + *suggestion + "?" : "");
}

std::string unexpected_word(const std::string& word, bool takes_files) {
  return "'" + word + "' was not expected; options begin with --" +
         (takes_files ? ", and a file of this name is given as " + shell_word("./" + word) +
                            " or after the word --"
                      : "");
}

std::optional<std::string> meant_choice(const std::string& given,
                                        const std::vector<std::string>& choices) {
  std::string lower = given;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  const auto is_choice = [&choices](const std::string& word) {
    return std::find(choices.begin(), choices.end(), word) != choices.end();
  };
  if (is_choice(lower)) return lower;
  const char* ours = look_up(kOtherValues, lower);
  if (ours != nullptr && is_choice(ours)) return ours;
  return nearest(lower, choices);
}

}  // namespace tandem::app
