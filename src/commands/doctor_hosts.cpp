// tandem doctor --hosts: tests the hosts one by one, then starts the doctor on all of them by
// mpirun. By then, mpirun has no reason to hang.
#include "doctor_hosts.hpp"

#include <algorithm>
#include <cstdlib>

#include "commands.hpp"
#include "diagnose/host_trial.hpp"
#include "run_program.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::int64_t kLowestPort = 1'024;
constexpr std::int64_t kHighestPort = 65'535;

struct PortRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::string text() const { return std::to_string(first) + "-" + std::to_string(last); }
};

PortRange parse_ports(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<std::string> ends = split(text, '-');
  if (ends.size() != 2) throw UsageError("--ports: '" + text + "' is not like 20000-20199");
  const PortRange range{parse_integer(ends[0], kLowestPort, kHighestPort, "--ports"),
                        parse_integer(ends[1], kLowestPort, kHighestPort, "--ports")};
  if (range.last <= range.first) {
    throw UsageError("--ports: " + text + " is no range of at least two ports, such as " +
                     "20000-20199; the first half is for ranks, the second for mpirun");
  }
  return range;
}

std::vector<std::string> names_of(const std::string& hosts) {
  std::vector<std::string> names;
  for (const std::string& host : split(hosts, ',')) names.push_back(host.substr(0, host.find(':')));
  return names;
}

Arguments mpirun_words(const std::string& hosts, const std::string& network,
                       const PortRange& ports) {
  Arguments words{"--host", hosts, "--bind-to", "none"};
  const auto set = [&](const std::string& name, const std::string& value) {
    words.insert(words.end(), {"--mca", name, value});
  };
  if (!network.empty()) {
    set("btl_tcp_if_include", network);
    set("oob_tcp_if_include", network);
  }
  if (ports.first != 0) {
    const std::int64_t of_ranks = (ports.last - ports.first + 1) / 2;
    for (const std::string version : {"v4", "v6"}) {
      set("btl_tcp_port_min_" + version, std::to_string(ports.first));
      set("btl_tcp_port_range_" + version, std::to_string(of_ranks));
    }
    set("oob_tcp_dynamic_ipv4_ports", PortRange{ports.first + of_ranks, ports.last}.text());
  }
  return words;
}

// Also tells whether there are errors.
bool print_findings(const std::vector<Finding>& findings, bool json) {
  if (json) {
    Json list = Json::array();
    for (const Finding& finding : findings) list.push_back(to_json(finding));
    print_line(Json{{"findings", list}, {"ranks", Json::array()}, {"pairs", Json::array()}}.dump(
        -1, ' ', false, Json::error_handler_t::replace));
  } else {
    for (const Finding& finding : findings) {
      print_line(finding.code + " " + finding.what + "\n     fix: " + finding.fix);
    }
  }
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.is_error(); });
}

}  // namespace

int run_doctor_of_hosts(const Arguments& arguments) {
  Options options = resolve_alone(doctor_command(), arguments, false);
  const std::string hosts = options.text("hosts");
  const std::string network = options.text("network");
  const bool json = options.flag("json");
  const PortRange ports = options.parsed("ports", parse_ports);
  HostTrial trial;
  trial.hosts = names_of(hosts);
  for (const std::string& name : trial.hosts) {
    if (name.empty() || name.front() == '-') {
      options.add_fault("--hosts: '" + hosts + "' is not like n1,n2 or n1:4,n2:2");
    }
  }
  options.throw_faults("doctor");
  if (!network.empty()) trial.networks = split(network, ',');
  if (ports.first != 0) {
    trial.ports = {static_cast<int>(ports.first), static_cast<int>(ports.last)};
    trial.port_range = ports.text();
  }
  trial.program = own_program();
  if (const char* agent = std::getenv("OMPI_MCA_plm_rsh_agent")) trial.remote_shell = agent;

  const std::vector<Finding> findings = try_hosts(trial);
  if (findings.empty() && !json) {
    print_line(join(trial.hosts, ", ") + ": names, " + trial.remote_shell + ", program" +
               (trial.port_range.empty() ? "" : ", ports " + trial.port_range) +
               " and network work");
  }
  const bool is_open_mpi = comm::mpi_library_version().rfind("Open MPI", 0) == 0;
  const bool has_errors = findings.empty() ? false : print_findings(findings, json);
  if (has_errors) return static_cast<int>(ExitCode::kDisagreement);
  if (!is_open_mpi) {
    print_note("for this MPI, start the rest by its own launcher: mpiexec … tandem doctor");
    return static_cast<int>(ExitCode::kDone);
  }
  Arguments words = mpirun_words(hosts, network, ports);
  words.insert(words.end(), {own_program(), "doctor"});
  Arguments rest = arguments;
  for (const char* name : {"hosts", "ports", "network"}) take_option(rest, name);
  words.insert(words.end(), rest.begin(), rest.end());
  return run_mpirun(words);
}

}  // namespace tandem::app
