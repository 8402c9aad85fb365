// Hosts, ranks and cores of a job.
#include <algorithm>
#include <regex>

#include "launch_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxHosts = 100'000;
constexpr std::uint64_t kMaxRanksPerHost = 4'096;
constexpr std::uint64_t kCpusOfGpuRank = 8;

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
    options.parsed("hosts", [&](const std::string&) {
      return parse_integer(host.substr(colon + 1), 1, kMaxRanksPerHost,
                           "--hosts: ranks of '" + host.substr(0, colon) + "'");
    });
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

comm::Launcher read_launcher(Options& options) {
  if (!options.is_set("mpi")) return comm::launcher_of_library();
  const std::string name = options.choice("mpi");
  for (const comm::Launcher& each : comm::all_launchers()) {
    if (each.name == name) return each;
  }
  return comm::open_mpi_4();  // there is a fault already
}

}  // namespace

void read_placement(Options& options, const std::string& form, Launch& launch) {
  launch.launcher = read_launcher(options);
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

}  // namespace tandem::app
