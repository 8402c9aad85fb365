#include "launch_options.hpp"

#include <algorithm>
#include <regex>

#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

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
  if (text.empty()) return text;
  const std::string number = "[0-9]{1,9}";
  const std::string from_1 = "0*[1-9][0-9]{0,8}";
  const std::string rest = "-" + number + "(:" + from_1 + ")?";
  const std::string range = number + "(" + rest + ")?";
  const bool is_pbs = form == "pbs";
  const std::string pattern =
      is_pbs ? number + rest : range + "(," + range + ")*(%" + from_1 + ")?";
  if (text.size() > kLongestName || !std::regex_match(text, std::regex(pattern))) {
    options.add_fault("--array: '" + text + "' is not like " + (is_pbs ? "1-5" : "1-5 or 1,3,7"));
    return text;
  }
  for (const std::string& each : split(text, ',')) {
    const std::size_t dash = each.find('-');
    const auto first = std::stoul(each);
    const auto last = dash == std::string::npos ? first : std::stoul(each.substr(dash + 1));
    if (first > last) {
      options.add_fault("--array: '" + each + "' ends before it begins");
    } else if (is_pbs && first == last) {
      options.add_fault("--array: '" + each + "' has one task; an array of PBS needs at least two");
    } else if (form == "lsf" && begins_with(each, "0")) {
      options.add_fault("--array: '" + each + "' begins with 0; LSF counts from 1");
    }
  }
  return text;
}

// LSF counts by itself.
std::uint64_t read_requeues(Options& options, const std::string& form, bool has_array) {
  const std::uint64_t most = options.count("requeues", 0, 10'000);
  if (form != "pbs" || !has_array) return form == "lsf" ? 0 : most;
  if (most > 0 && options.value("requeues").origin != Origin::kDefault)
    options.add_fault("--requeues: a task of an array of PBS cannot start again; leave it out");
  return 0;
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
  read_placement(options, form, launch);
  read_time_limit(options, form, launch);
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
