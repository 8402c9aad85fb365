#include "launch_options.hpp"

#include <algorithm>
#include <regex>

#include "script.hpp"
#include "tandem/core/text.hpp"
#include "time_limit.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxHosts = 100'000;
constexpr std::uint64_t kMaxRanksPerHost = 4'096;
constexpr std::uint64_t kCpusOfGpuRank = 8;
constexpr std::size_t kLongestName = 200;  // characters
constexpr auto kDefaultImage = "tandem.sif";

// Options that only some forms take.
struct Use {
  const char* option;
  std::vector<std::string> forms;
  const char* reason;  // why the others do not
};
std::vector<Use> limited_uses() {
  const std::vector<std::string> scripts = {"sbatch", "apptainer", "pbs", "lsf", "flux"};
  return {
      {"hosts", {"mpirun"}, "a batch system chooses the hosts"},
      {"image", {"apptainer", "kubernetes"}, "the others start the program itself"},
      {"claim", {"kubernetes"}, "the others see the files of the host"},
      {"time", {"sbatch", "apptainer", "pbs", "lsf", "flux", "kubernetes"}, "mpirun has no limit"},
      {"requeues",
       {"sbatch", "apptainer", "pbs", "flux", "kubernetes"},
       "mpirun does not requeue, and LSF counts by the queue's MAX_JOB_REQUEUE"},
      {"partition", scripts, "there is none"},
      {"account", scripts, "there is none"},
      {"output", scripts, "redirect it, or see kubectl logs"},
      {"array", {"sbatch", "apptainer", "pbs", "lsf"}, "the others have no arrays"},
      {"memory-per-node",
       {"sbatch", "apptainer", "pbs", "lsf", "kubernetes"},
       "mpirun and Flux do not ration memory"}};
}

void refuse_unused(Options& options, const std::string& form) {
  if (form.empty()) return;  // there is a fault already
  for (const Use& use : limited_uses()) {
    if (options.value(use.option).origin == Origin::kDefault) continue;
    if (std::count(use.forms.begin(), use.forms.end(), form) > 0) continue;
    options.add_fault("--" + std::string(use.option) + " is for " + join(use.forms, ", ") +
                      "; leave it out: " + use.reason + options.where_from(use.option));
  }
}

// A host that begins with '-' would be an option to mpirun or ssh.
bool is_host_name(const std::string& name) {
  constexpr auto kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]";
  return name.front() != '-' && name.find_first_not_of(kAllowed) == std::string::npos;
}

// "name" or "name:ranks", each. Adds a fault for "" and other text.
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

// "16G" or "8000M", by powers of 1024.
std::uint64_t read_mebibytes(Options& options) {
  const std::string text = options.text("memory-per-node");
  if (text.empty()) return 0;
  if (!std::regex_match(text, std::regex("[1-9][0-9]{0,6}[MG]"))) {
    options.add_fault("--memory-per-node: '" + text + "' is not like 16G or 8000M");
    return 0;
  }
  return std::stoull(text) * (text.back() == 'G' ? 1024 : 1);
}

// A word of a directive, which no shell quotes.
std::string read_name(Options& options, const std::string& option, const std::string& allowed) {
  std::string text = options.text(option);
  const bool fits = text.size() <= kLongestName &&
                    std::regex_match(text, std::regex("[A-Za-z0-9_./%{][" + allowed + "]*"));
  if (!text.empty() && !fits) {
    options.add_fault("--" + option + ": '" + text +
                      "' has more than letters, digits and the marks of names, or more than " +
                      std::to_string(kLongestName) + " characters");
  }
  return text;
}

// Adds a fault for a text that is longer or does not fit the pattern.
void require_fit(Options& options, const std::string& option, std::size_t longest,
                 const std::string& pattern, const char* expected) {
  const std::string text = options.text(option);
  const bool fits = text.size() <= longest && std::regex_match(text, std::regex(pattern));
  if (text.empty() || fits) return;
  options.add_fault("--" + option + ": '" + text + "' is not a valid name; " + expected);
}

// The claim is a subdomain of RFC 1123. The image has [HOST[:PORT]/]PATH[:TAG][@DIGEST].
void require_names_of_kubernetes(Options& options) {
  options.require("image");
  options.require("claim");
  const std::string label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
  require_fit(options, "claim", 253, label + "([.]" + label + ")*",
              "expected at most 253 lower-case letters, digits, '-' and '.', with a letter or "
              "digit at both ends, such as shared-data");
  const std::string part = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*";
  require_fit(options, "image", 512,
              "([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/)?" + part + "(/" + part +
                  ")*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,128})?",
              "expected an image of a registry, in lower case before the tag, such as "
              "registry.example.org/tandem:cuda");
}

std::string read_array(Options& options, const std::string& form) {
  std::string text = options.text("array");
  const std::string range = "[0-9]{1,9}(-[0-9]{1,9}(:[0-9]{1,9})?)?";
  const bool is_pbs = form == "pbs";
  const std::string pattern =
      is_pbs ? "[0-9]{1,9}-[0-9]{1,9}(:[0-9]{1,9})?" : range + "(," + range + ")*(%[0-9]{1,9})?";
  if (!text.empty() &&
      (text.size() > kLongestName || !std::regex_match(text, std::regex(pattern)))) {
    options.add_fault("--array: '" + text + "' is not like " + (is_pbs ? "1-5" : "1-5 or 1,3,7"));
    return text;
  }
  for (const std::string& each : split(text, ',')) {
    const std::size_t dash = each.find('-');
    if (dash != std::string::npos && std::stoul(each) > std::stoul(each.substr(dash + 1))) {
      options.add_fault("--array: '" + each + "' ends before it begins");
    } else if (form == "lsf" && begins_with(each, "0")) {
      options.add_fault("--array: '" + each + "' begins with 0; LSF counts from 1");
    }
  }
  return text;
}

// A number for all hosts, or one for each: "4,4,2,2".
void read_ranks(Options& options, const std::string& form, Launch& launch) {
  const std::vector<std::string> numbers = split(options.text("ranks-per-node"), ',');
  if (numbers.size() == 1) {
    launch.ranks_per_node = options.count("ranks-per-node", 0, kMaxRanksPerHost);
    return;
  }
  launch.ranks_per_node = 1;
  for (const std::string& number : numbers) {
    launch.ranks_of_nodes.push_back(options.parsed("ranks-per-node", [&](const std::string&) {
      return static_cast<std::uint64_t>(
          parse_integer(number, 1, kMaxRanksPerHost, "--ranks-per-node"));
    }));
  }
  if (form != "sbatch" && form != "apptainer" && form != "pbs") {
    options.add_fault(
        "--ranks-per-node: a number for each host is for sbatch, apptainer and pbs; " +
        std::string(form == "mpirun" ? "name hosts: --hosts n1:4,n2:2" : "give one for all"));
  }
  const bool has_nodes = options.value("nodes").origin != Origin::kDefault;
  if (has_nodes && launch.nodes != numbers.size()) {
    options.add_fault("--ranks-per-node has " + std::to_string(numbers.size()) +
                      " numbers, --nodes is " + std::to_string(launch.nodes) +
                      "; leave --nodes out");
  }
  launch.nodes = numbers.size();
  if (launch.gpus_per_node > 0) {
    options.add_fault(
        "--gpus-per-node: hosts of unequal ranks have unequal GPUs; see jobs/unequal-nodes.sbatch");
  }
}

void read_placement(Options& options, const std::string& form, Launch& launch) {
  launch.nodes = options.count("nodes", 1, kMaxHosts);
  launch.gpus_per_node = options.count("gpus-per-node", 0, kMaxRanksPerHost);
  read_ranks(options, form, launch);
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
  launch.mebibytes_per_node = read_mebibytes(options);
  launch.hosts = read_hosts(options);
  if (form == "mpirun" && launch.hosts.empty() && launch.nodes > 1) {
    options.add_fault("--hosts: mpirun must know the " + std::to_string(launch.nodes) +
                      " hosts; --hosts n1,n2, or n1:4,n2:2 where they have unequal ranks");
  }
}

// LSF counts by itself.
std::uint64_t read_requeues(Options& options, const std::string& form, bool has_array) {
  const std::uint64_t most = options.count("requeues", 0, 10'000);
  if (form != "pbs" || !has_array) return form == "lsf" ? 0 : most;
  if (most > 0 && options.value("requeues").origin != Origin::kDefault)
    options.add_fault("--requeues: a task of an array of PBS cannot start again; leave it out");
  return 0;
}

comm::Launcher read_launcher(Options& options) {
  if (!options.is_set("mpi")) return comm::launcher_of_library();
  const std::string name = options.choice("mpi");
  for (const comm::Launcher& each : comm::all_launchers()) {
    if (each.name == name) return each;
  }
  return comm::open_mpi_4();  // there is a fault already
}

}  // namespace

OptionTable launch_option_table() {
  return {
      {"nodes", "N", "1", "hosts of the job", "place"},
      {"hosts", "LIST", "", "for mpirun: n1,n2, or n1:4,n2:2 with the ranks of each", "place"},
      {"ranks-per-node", "N", "0", "0: one for each GPU, else one; 4,4,2: for each host", "place"},
      {"gpus-per-node", "N", "0", "GPUs to ask for", "place"},
      {"cpus-per-rank", "N", "0", "cores of a rank; 0: not bound; Slurm: 8 with GPUs", "place"},
      {"memory-per-node", "SIZE", "", "memory to ask for on each host, such as 16G", "place"},
      {"mpi",
       "NAME",
       "",
       "openmpi4, openmpi5, mpich, intelmpi; by default that of this program",
       "place",
       {},
       {"openmpi4", "openmpi5", "mpich", "intelmpi"}},
      {"time", "LIMIT", "", "time limit of the job: 01:30:00, 2-00:00:00 or minutes", "job"},
      {"partition", "NAME", "", "partition or queue", "job", {}, {}, {}, {"queue"}},
      {"account", "NAME", "", "account, project or bank", "job"},
      {"array", "LIST", "", "job array: one run for each of these seeds, such as 1-5", "job"},
      {"output", "FILE", "", "file for the job's output, with the batch system's placeholders",
       "job"},
      {"requeues", "N", "10", "how often a job that stopped early starts again", "job"},
      {"image", "FILE", "", "container image, for apptainer (or tandem.sif) and kubernetes", "job"},
      {"claim", "NAME", "", "for kubernetes: volume claim with data and runs", "job"}};
}

Launch read_launch(Options& options, const std::string& form) {
  Launch launch;
  refuse_unused(options, form);
  launch.launcher = read_launcher(options);
  read_placement(options, form, launch);
  launch.time_limit = options.text("time");
  launch.seconds_limit = read_time_limit(options);
  launch.partition = read_name(options, "partition", "A-Za-z0-9_.,@:-");
  launch.account = read_name(options, "account", "A-Za-z0-9_.@:/-");
  launch.output = read_name(options, "output", "A-Za-z0-9_./%@:={}-");
  launch.array = read_array(options, form);
  launch.most_requeues = read_requeues(options, form, !launch.array.empty());
  launch.image = options.text("image");
  launch.claim = options.text("claim");
  if (form == "apptainer" && launch.image.empty()) launch.image = kDefaultImage;
  if (form == "kubernetes") require_names_of_kubernetes(options);
  return launch;
}

void check_train_options(const Launch& launch, const std::string& form, Options& options) {
  for (const std::string option : {"seed", "run-id"}) {
    if (launch.array.empty() || !gives(launch.train_options, option)) continue;
    options.add_fault("--array gives each task a seed and a run of its own; leave out --" + option);
  }
  if (form == "kubernetes" && !gives(launch.train_options, "data")) {
    options.add_fault(
        "--data: name the data set after --, as it is in the volume: -- --data FILE.h5");
  }
  if (form == "mpirun") return;
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

}  // namespace tandem::app
