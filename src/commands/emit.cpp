// tandem emit: the line or the job script that starts a training run on given hosts.
#include <algorithm>
#include <map>
#include <optional>

#include "cli/stall_options.hpp"
#include "cli/train_options.hpp"
#include "commands.hpp"
#include "launch.hpp"
#include "launch/launch_options.hpp"
#include "self_description.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

const std::vector<std::string> kForms = {
    "sbatch",     "mpirun", "apptainer",       "pbs",           "lsf", "flux",
    "kubernetes", "man",    "bash-completion", "zsh-completion"};

// Other names that users give to some forms, or the nearest form.
std::optional<std::string> meant_form(const std::string& word) {
  const std::map<std::string, const char*> others{{"k8s", "kubernetes"},
                                                  {"slurm", "sbatch"},
                                                  {"srun", "sbatch"},
                                                  {"torque", "pbs"},
                                                  {"qsub", "pbs"},
                                                  {"bsub", "lsf"},
                                                  {"singularity", "apptainer"},
                                                  {"mpiexec", "mpirun"}};
  const auto other = others.find(word);
  return other == others.end() ? nearest(word, kForms) : other->second;
}

std::string read_form(Options& options) {
  const auto& words = options.positional();
  if (words.size() == 1 && std::count(kForms.begin(), kForms.end(), words[0]) == 1) return words[0];
  const auto suggestion = words.size() == 1 ? meant_form(words[0]) : std::nullopt;
  options.add_fault(
      (words.empty() ? "the form is missing" : "'" + join(words, " ") + "' is not a form") + ": " +
      join(kForms, ", ") + "; " +
      (suggestion ? "did you mean " + *suggestion + "?"
                  : "options of `tandem train` stand after a --"));
  return "";
}

// A description of the program, made from the table of --help; "" for other forms.
std::string describe_program(const std::string& form) {
  if (form == "man") return man_page(all_commands());
  if (form == "bash-completion") return bash_completion();
  return form == "zsh-completion" ? zsh_completion() : "";
}

// Reads the options after the -- as `train` will, so that a misspelled one is reported before the
// job starts. Adds a fault to `job` for each option that contradicts the job's.
void read_words_of_train(const Arguments& words, Launch& launch, Options& job) {
  const OptionTable table = train_option_table();
  CommandLine line = parse_command_line("train", table, words, false);
  line.values.emplace("data", "$TANDEM_DATA");  // unless it is given; likewise --max-time
  const bool adds_max_time =
      launch.max_time > 0 &&
      line.values.emplace("max-time", std::to_string(launch.max_time)).second;
  Options options = resolve(table, line);
  read_stall_limits(options);
  const TrainRequest request = read_train_options(options);
  launch.train_options = words;
  const train::TrainConfig& config = request.config;
  const char* const without_gpus = options.text("device") == "cpu" ? "--device cpu"
                                   : config.virtual_ranks > 0      ? "--virtual-ranks"
                                   : config.share_weights          ? "--share-weights"
                                                                   : nullptr;
  if (launch.gpus_per_node > 0 && without_gpus != nullptr) {
    job.add_fault("--gpus-per-node asks for GPUs, and " + std::string(without_gpus) +
                  " uses none; leave one of them out");
  }
  try {
    if (launch.ranks() > 0) train::require_even_shards(config, launch.ranks());
  } catch (const UsageError& error) {
    job.add_fault(error.what());
  }
  const double stops_after = request.checkpoint_policy.stop_after_seconds;
  if (!adds_max_time && launch.seconds_limit > 0 &&
      stops_after >= static_cast<double>(launch.seconds_limit)) {
    job.add_fault("--max-time " + options.text("max-time") + " is beyond --time " +
                  launch.time_limit +
                  ", so the job ends before the run stops; make it shorter, or leave it out");
  }
}

void refuse_options_of_train(const Arguments& words) {
  for (const std::string& word : words) {
    if (!begins_with(word, "--")) continue;
    const std::string name = with_dashes(word.substr(0, word.find('='))).substr(2);
    const bool is_own = has_option(launch_option_table(), name);
    if (is_own || !has_option(train_option_table(), name)) continue;
    const auto form = std::find_first_of(words.begin(), words.end(), kForms.begin(), kForms.end());
    throw UsageError(word.substr(0, word.find('=')) +
                     " is an option of `tandem train`; give it after a --: tandem emit " +
                     (form == words.end() ? "FORM" : *form) + " … -- " + word + " …");
  }
}

std::string text_of(const std::string& form, const Launch& launch) {
  if (form == "mpirun") return mpirun_line(launch);
  if (form == "pbs") return pbs_script(launch);
  if (form == "lsf") return lsf_script(launch);
  if (form == "flux") return flux_script(launch);
  if (form == "kubernetes") return kubernetes_job(launch);
  return sbatch_script(launch);  // with an image for apptainer
}

int run_emit(const Arguments& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  refuse_options_of_train({arguments.begin(), separator});
  Options options = resolve_alone(emit_command(), {arguments.begin(), separator}, true);
  const std::string form = read_form(options);
  if (const std::string text = describe_program(form); !text.empty()) {
    if (arguments.size() > 1) options.add_fault(form + " takes no options");
    options.throw_faults("emit");
    print_line(text);
    return 0;
  }
  Launch launch = read_launch(options, form);
  if (separator != arguments.end()) {
    read_words_of_train({separator + 1, arguments.end()}, launch, options);
  }
  if (form == "mpirun") launch.program = own_program();
  check_train_options(launch, form, options);
  options.throw_faults("emit");
  print_line(text_of(form, launch));
  return 0;
}

}  // namespace

Command emit_command() {
  return {
      "emit",
      "FORM [options] [-- OPTIONS OF train]",
      "print a job for a batch system, a line for mpirun, the man page or shell completions",
      "tandem emit sbatch --nodes 2 --gpus-per-node 4 -- --recipe cifar10-resnet18 > job.sbatch",
      launch_option_table(),
      run_emit,
      nullptr,
      kForms};
}

}  // namespace tandem::app
