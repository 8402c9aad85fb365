// tandem doctor: finds the faults of a job in one collective run, and prints fixes.
#include <algorithm>
#include <limits>
#include <set>

#include "commands.hpp"
#include "diagnose/examination.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/launcher.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// "ranks of a host exchange at least 5.1 GB/s, hosts exchange at least 117.2 MB/s by TCP on eth0":
// the slowest pair of each kind.
std::string describe_speeds(const Examination& examination) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double within = kNone;
  double between = kNone;
  for (const PairSpeed& pair : examination.measurements.pairs) {
    const bool is_one_host = facts_of(examination.facts, pair.first).host ==
                             facts_of(examination.facts, pair.second).host;
    double& slowest = is_one_host ? within : between;
    slowest = std::min(slowest, pair.bytes_per_second);
  }
  std::vector<std::string> parts;
  const auto add = [&](const std::string& who, double speed, const std::string& by) {
    if (speed == kNone) return;
    parts.push_back(who + " " + format_bytes(static_cast<std::uint64_t>(speed)) + "/s" + by);
  };
  std::set<std::string> transports;
  for (const RankFacts& each : examination.facts) transports.insert(each.transport);
  transports.erase("");
  add("ranks of a host exchange at least", within, "");
  add("hosts exchange at least", between,
      transports.empty() ? "" : " by " + join({transports.begin(), transports.end()}, ", "));
  return parts.empty() ? "no exchange was measured" : join(parts, ", ");
}

// "no fault found: 2 ranks on 1 host; …"
std::string describe_end_of(const Examination& examination, const std::vector<Finding>& findings) {
  std::set<std::string> hosts;
  for (const RankFacts& each : examination.facts) hosts.insert(each.host);
  const auto errors = static_cast<int>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& finding) { return finding.is_error(); }));
  const int warnings = static_cast<int>(findings.size()) - errors;
  const std::string verdict = findings.empty() ? "no fault found"
                                               : format_quantity(errors, "error") + ", " +
                                                     format_quantity(warnings, "warning");
  const std::uint64_t unread = examination.facts.front().data_unread_bytes;
  return verdict + ": " + format_quantity(static_cast<int>(examination.facts.size()), "rank") +
         " on " + format_quantity(static_cast<int>(hosts.size()), "host") + "; " +
         describe_speeds(examination) +
         (unread == 0 ? ""
                      : "; " + format_bytes(unread) +
                            " of pictures were not read (tandem verify checks them)");
}

// The exit code.
ExitCode print_examination(const Examination& examination, bool json) {
  const std::vector<Finding> findings = judge(examination.facts, examination.measurements);
  if (json) {
    Json object{
        {"findings", Json::array()}, {"ranks", examination.facts}, {"pairs", Json::array()}};
    for (const Finding& finding : findings) object["findings"].push_back(to_json(finding));
    object["pairs"] = pairs_to_json(examination.measurements.pairs);
    print_line(dump_any_bytes(object));
  } else {
    for (const Finding& finding : findings) print_line(finding.lines());
    print_line(describe_end_of(examination, findings) +
               (has_error(findings) ? note_of_mpirun() : ""));
  }
  return has_error(findings) ? ExitCode::kDisagreement : ExitCode::kDone;
}

// A rank may inherit variables that were meant for --hosts.
void refuse_options_of_hosts(Options& options) {
  for (const std::string name : {"ports", "network"}) {
    const Origin origin = options.value(name).origin;
    if (origin == Origin::kDefault || (origin == Origin::kEnvironment && is_launched())) continue;
    options.add_fault("--" + name +
                      " is for --hosts; name the hosts: --hosts n1,n2, or leave it out");
  }
}

int run_doctor(Job& job, const Arguments& arguments) {
  Options options = resolve_on_rank_0(job, "doctor", doctor_command().options, arguments);
  bool json = false;
  ExaminationRequest request;
  comm::agree(job.world, [&] {
    json = options.flag("json");
    request.data = options.text("data");
    refuse_options_of_hosts(options);
    options.throw_faults("doctor");
    request.threads = rank_threads(0, job.topology.default_threads());
  });
  const Examination examination = examine(job, request, arguments);
  std::int64_t code = 0;
  comm::agree_on_rank_0(
      job.world, [&] { code = static_cast<std::int64_t>(print_examination(examination, json)); });
  job.world.broadcast(Span<std::int64_t>(&code, 1));
  return static_cast<int>(code);
}

// Runs in each process, but only one prints. MPI's own start would abort the processes with its own
// message, or leave each alone.
int run_unconnected_doctor(const Arguments& arguments) {
  Options options = resolve_alone(doctor_command(), arguments, false);
  const bool json = options.flag("json");
  refuse_options_of_hosts(options);
  options.throw_faults("doctor");
  Examination examination;
  examination.facts.resize(1);
  examination.facts.front().host = kernel_host_name();
  look_around(examination.facts.front());
  if (comm::launcher_rank() == 0) print_examination(examination, json);
  return static_cast<int>(ExitCode::kDisagreement);
}

}  // namespace

Command doctor_command() {
  Command command{
      "doctor",
      "[--data FILE.h5] [options]",
      "check ranks, hosts, GPUs, memory, network and data; print a fix for each fault",
      "mpirun -np 2 --bind-to none tandem doctor --data synthetic.h5",
      {{"data", "FILE.h5", "", "packed data set that all hosts should have alike", "input"},
       {"stall-warn", "S", "30", "warn of a rank that hangs for S seconds; 0: never",
        "safekeeping"},
       {"stall-abort", "S", "600", "end the job (124) if a rank hangs for S seconds; 0: never",
        "safekeeping"},
       {"hosts", "LIST", "",
        "test these hosts one by one, then start the doctor on them: n1,n2, or n1:4,n2:2", "hosts"},
       {"ports", "FIRST-LAST", "", "TCP ports that are open between the hosts", "hosts"},
       {"network", "LIST", "", "interface or network of the hosts, such as 10.0.0.0/24", "hosts"},
       {"json", "", "false", "one JSON object on standard output", "reporting"}},
      run_doctor_of_hosts,
      run_doctor};
  command.run_unconnected = run_unconnected_doctor;
  command.alone_with = "hosts";
  return command;
}

}  // namespace tandem::app
