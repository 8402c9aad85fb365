// tandem emit: the line or the job script that starts a training run on given hosts.
#include <algorithm>
#include <filesystem>
#include <regex>

#include "cli/stall_options.hpp"
#include "cli/train_options.hpp"
#include "commands.hpp"
#include "launch.hpp"
#include "self_description.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

const std::vector<std::string> kForms = {"sbatch", "mpirun",          "apptainer",
                                         "man",    "bash-completion", "zsh-completion"};
constexpr std::uint64_t kMaxHosts = 100'000;
constexpr std::uint64_t kMaxRanksPerHost = 4'096;
constexpr std::uint64_t kCpusOfGpuRank = 8;
constexpr auto kDefaultImage = "tandem.sif";

std::string read_form(Options& options) {
  const auto& words = options.positional();
  if (words.size() == 1 && std::count(kForms.begin(), kForms.end(), words[0]) == 1) return words[0];
  const auto suggestion = words.size() == 1 ? nearest(words[0], kForms) : std::nullopt;
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

// A host that begins with '-' would be an option to mpirun or ssh.
bool is_host_name(const std::string& name) {
  constexpr auto kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]";
  return name.front() != '-' && name.find_first_not_of(kAllowed) == std::string::npos;
}

// "name" or "name:ranks", each; "" and other faults are noted.
std::vector<std::string> read_hosts(Options& options) {
  std::vector<std::string> hosts = split(options.text("hosts"), ',');
  if (!options.is_set("hosts")) return {};
  for (const std::string& host : hosts) {
    const std::size_t colon = host.find(':');
    if (host.empty() || colon == 0) {
      options.add_fault("--hosts: a host has no name");
    } else if (!is_host_name(host.substr(0, colon))) {
      options.add_fault("--hosts: '" + host.substr(0, colon) +
                        "' is not a name of letters, digits, '.', '_', '-', '[' or ']' that begins "
                        "with another character than '-'");
    }
    if (colon == std::string::npos) continue;
    try {
      parse_integer(host.substr(colon + 1), 1, kMaxRanksPerHost,
                    "--hosts: ranks of '" + host.substr(0, colon) + "'");
    } catch (const UsageError& error) {
      options.add_fault(error.what());
    }
  }
  if (options.value("nodes").origin != Origin::kDefault) {
    options.add_fault("--nodes: --hosts says how many there are");
  }
  return hosts;
}

// sbatch accepts more forms. Two numbers mean minutes and seconds there, which no user intends.
void check_time(Options& options) {
  const std::string time = options.text("time");
  constexpr std::size_t kLongest = 32;
  if (time.size() > kLongest) {
    options.add_fault("--time is longer than " + std::to_string(kLongest) + " characters");
    return;
  }
  if (time.empty() || std::regex_match(time, std::regex("[0-9]+(:[0-9]+:[0-9]+)?"))) return;
  if (std::regex_match(time, std::regex("[0-9]+-[0-9]+(:[0-9]+){0,2}"))) return;
  const bool two = std::regex_match(time, std::regex("[0-9]+:[0-9]+"));
  options.add_fault("--time: '" + time + "' is " +
                    (two ? "minutes and seconds to Slurm; write " + time +
                               ":00 for hours and minutes, or the minutes alone"
                         : std::string("not like 30 (minutes), 01:30:00 or 2-00:00:00")));
}

Launch read_launch(Options& options, const std::string& form) {
  Launch launch;
  launch.nodes = options.count("nodes", 1, kMaxHosts);
  launch.gpus_per_node = options.count("gpus-per-node", 0, kMaxRanksPerHost);
  launch.ranks_per_node = options.count("ranks-per-node", 0, kMaxRanksPerHost);
  if (launch.ranks_per_node == 0) {
    launch.ranks_per_node = std::max<std::uint64_t>(launch.gpus_per_node, 1);
  } else if (launch.gpus_per_node > 0 && launch.ranks_per_node > launch.gpus_per_node) {
    options.add_fault("--ranks-per-node: " + std::to_string(launch.ranks_per_node) +
                      " ranks would share " + std::to_string(launch.gpus_per_node) +
                      " GPUs; a rank drives one of its own");
  }
  launch.cpus_per_rank = options.count("cpus-per-rank", 0, kMaxRanksPerHost);
  if (launch.cpus_per_rank == 0 && launch.gpus_per_node > 0 && form != "mpirun") {
    launch.cpus_per_rank = kCpusOfGpuRank;  // else Slurm gives one, and mpirun does not bind
  }
  launch.most_requeues = options.count("requeues", 0, 10'000);
  launch.time_limit = options.text("time");
  check_time(options);
  if (form == "apptainer") {
    launch.image = options.is_set("image") ? options.text("image") : kDefaultImage;
  } else if (options.is_set("image")) {
    options.add_fault("--image is for `tandem emit apptainer` only");
  }
  launch.hosts = read_hosts(options);
  if (form == "mpirun") {
    for (const char* name : {"time", "requeues"}) {
      if (options.value(name).origin != Origin::kDefault) {
        options.add_fault("--" + std::string(name) + " is for Slurm; leave it out");
      }
    }
    if (launch.hosts.empty() && launch.nodes > 1) {
      options.add_fault("--hosts: mpirun must know the " + std::to_string(launch.nodes) +
                        " hosts; --hosts n1,n2, or n1:4,n2:2 where they have unequal ranks");
    }
  } else if (!launch.hosts.empty()) {
    options.add_fault("--hosts is for `tandem emit mpirun` only; Slurm chooses the hosts");
  }
  return launch;
}

// Those after the --, read as `train` will read them, so that a misspelt one is not found only in
// the job.
std::vector<std::string> read_words_of_train(const Arguments& words) {
  const OptionTable table = train_option_table();
  CommandLine line = parse_command_line("train", table, words, false);
  line.values.emplace("data", "$TANDEM_DATA");  // unless it is given
  Options options = resolve(table, line);
  read_stall_limits(options);
  read_train_options(options);
  return words;
}

void refuse_options_of_train(const Arguments& words) {
  const auto has = [](const OptionTable& table, std::string word) {
    word = word.substr(0, word.find('='));
    std::replace(word.begin(), word.end(), '_', '-');
    if (word.rfind("--", 0) != 0) return false;
    const std::string name = word.substr(2);
    return find_option(table, name) != nullptr ||
           (name.rfind("no-", 0) == 0 && find_option(table, name.substr(3)) != nullptr);
  };
  for (const std::string& word : words) {
    if (has(emit_command().options, word) || !has(train_option_table(), word)) continue;
    throw UsageError(word.substr(0, word.find('=')) +
                     " belongs to `tandem train`, whose options stand after a --: tandem emit " +
                     words.front() + " … -- " + word + " …");
  }
}

// A job that starts again has to find its own run.
void check_resume(const Launch& launch, Options& options) {
  const std::string mode = launch.resume_mode();
  if (mode == "none" && launch.most_requeues > 0) {
    options.add_fault(
        "--resume none: a requeued job would find its own run and end; leave it out, or give "
        "--requeues 0");
  } else if (mode != "none" && mode != "auto") {
    options.add_fault("--resume " + mode +
                      ": a requeued job would resume from it again; leave it out, and export "
                      "TANDEM_RUN_ID with the name of the run to resume");
  }
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
    launch.train_options = read_words_of_train({separator + 1, arguments.end()});
  }
  if (form == "mpirun") {
    launch.program = std::filesystem::read_symlink("/proc/self/exe");
  } else {
    check_resume(launch, options);
  }
  options.throw_faults("emit");
  print_line(form == "mpirun" ? mpirun_line(launch) : sbatch_script(launch));
  return 0;
}

}  // namespace

Command emit_command() {
  return {
      "emit",
      "FORM [options] [-- OPTIONS OF train]",
      "print a job script, a line for mpirun, the man page or shell completions",
      "tandem emit sbatch --nodes 2 --gpus-per-node 4 -- --recipe cifar10-resnet18 > job.sbatch",
      {{"nodes", "N", "1", "hosts of the job", "place"},
       {"hosts", "LIST", "", "for mpirun: n1,n2, or n1:4,n2:2 with the ranks of each", "place"},
       {"ranks-per-node", "N", "0", "0: one for each GPU, else one", "place"},
       {"gpus-per-node", "N", "0", "GPUs to ask for", "place"},
       {"cpus-per-rank", "N", "0", "cores of a rank; 0: not bound; Slurm: 8 with GPUs", "place"},
       {"time", "LIMIT", "", "for Slurm: 01:30:00, 2-00:00:00 or minutes", "job"},
       {"requeues", "N", "10", "for Slurm: how often a job that stopped early is requeued", "job"},
       {"image", "FILE", "", "for apptainer; tandem.sif where left out", "job"}},
      run_emit,
      nullptr,
      kForms};
}

}  // namespace tandem::app
