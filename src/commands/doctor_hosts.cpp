// tandem doctor --hosts: tests the hosts one by one, then starts the doctor on all of them by
// mpirun. By then, mpirun has no reason to hang.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "commands.hpp"
#include "diagnose/host_trial.hpp"
#include "run_program.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/spawn.hpp"
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

// The names "n1" and "n2" of "n1:4,n2". To mpirun, "n1,n1" means two ranks of one host.
std::vector<std::string> parse_hosts(const std::string& text) {
  constexpr std::int64_t kMaxRanks = 4'096;
  std::vector<std::string> names;
  for (const std::string& host : split(text, ',')) {
    const std::size_t colon = host.find(':');
    const std::string name = host.substr(0, colon);
    if (name.empty() || name.front() == '-') {
      throw UsageError("--hosts: '" + text + "' is not like n1,n2 or n1:4,n2:2");
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (colon == std::string::npos) continue;
    parse_integer(host.substr(colon + 1), 1, kMaxRanks, "--hosts: ranks of '" + name + "'");
  }
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

void print_findings(const HostTrial& trial, const std::vector<Finding>& findings) {
  if (findings.empty()) {
    print_line(join(trial.hosts, ", ") + ": names, " + join(trial.remote_shell, " ") + ", program" +
               (trial.port_range.empty() ? "" : ", ports " + trial.port_range) +
               " and network work");
  }
  for (const Finding& finding : findings) print_line(finding.lines());
}

// `object`: what the ranks found. The findings of the trial come first.
void print_object(const std::vector<Finding>& findings, Json object) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  for (const Json& finding : object.at("findings")) list.push_back(finding);
  object["findings"] = list;
  print_line(dump_any_bytes(object));
}

Json object_without_ranks() {
  return {{"findings", Json::array()}, {"ranks", Json::array()}, {"pairs", Json::array()}};
}

// Other lines, such as mpirun's own, go to standard error.
int examine_as_json(const Arguments& mpirun, const std::vector<Finding>& findings) {
  const ProgramEnd end = capture_mpirun(mpirun);
  Json object = object_without_ranks();
  for (const std::string& line : split(trim(end.output), '\n')) {
    const Json value = parse_json_or_discard(line);
    if (value.is_object() && value.contains("findings")) {
      object = value;
    } else if (!line.empty()) {
      print_note(line);
    }
  }
  print_object(findings, object);
  return end.code;
}

// The words behind mpirun.
Arguments examination_of(Options& options, Arguments arguments, const PortRange& ports) {
  Arguments words = mpirun_words(options.text("hosts"), options.text("network"), ports);
  words.insert(words.end(), {own_program(), "doctor"});
  // A rank on another host inherits no variable.
  const std::set<std::string> of_hosts{"hosts", "ports", "network"};
  for (const OptionSpec& spec : options.table()) {
    const OptionValue& value = options.value(spec.name);
    if (of_hosts.count(spec.name) > 0) {
      take_option(arguments, spec.name);
      ::unsetenv(environment_variable(spec.name).c_str());
    } else if (value.origin == Origin::kEnvironment) {
      const bool is_switch = spec.placeholder.empty();
      const std::string no = is_switch && !options.flag(spec.name) ? "no-" : "";
      words.push_back("--" + no + spec.name + (is_switch ? "" : "=" + value.text));
    }
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

int run_doctor_of_hosts(const Arguments& arguments) {
  Options options = resolve_alone(doctor_command(), arguments, false);
  const std::string hosts = options.text("hosts");
  const std::string network = options.text("network");
  const bool json = options.flag("json");
  const PortRange ports = options.parsed("ports", parse_ports);
  HostTrial trial;
  trial.hosts = options.parsed("hosts", parse_hosts);
  options.throw_faults("doctor");
  if (!network.empty()) trial.networks = split(network, ',');
  if (ports.first != 0) {
    trial.ports = {static_cast<int>(ports.first), static_cast<int>(ports.last)};
    trial.port_range = ports.text();
  }
  trial.program = own_program();
  if (const char* agents = std::getenv("OMPI_MCA_plm_rsh_agent")) {
    trial.remote_shell = remote_shell_of(agents);
  }

  const std::vector<Finding> findings = try_hosts(trial);
  if (!json) print_findings(trial, findings);
  const bool is_open_mpi = begins_with(comm::mpi_library_version(), "Open MPI");
  if (has_error(findings) || !is_open_mpi) {
    if (json) print_object(findings, object_without_ranks());
    if (has_error(findings)) return static_cast<int>(ExitCode::kDisagreement);
    print_note("for this MPI, start the rest by its own launcher: mpiexec … tandem doctor");
    return static_cast<int>(ExitCode::kDone);
  }
  const Arguments words = examination_of(options, arguments, ports);
  return json ? examine_as_json(words, findings) : run_mpirun(words);
}

}  // namespace tandem::app
