#include "host_trial.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "host_agent.hpp"
#include "host_session.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

using Clock = std::chrono::steady_clock;
using Findings = std::vector<Finding>;

constexpr std::chrono::seconds kTimeToAnswer(10);  // names included
constexpr std::chrono::seconds kTimeOfShell(5);    // at least, after slow names
constexpr std::chrono::milliseconds kTimeToEnd(500);
constexpr std::chrono::seconds kTimeToConnect(kConnectSeconds + 3);
constexpr const char* kInstallSame = "install the same tandem at that path on every host";
constexpr const char* kNameNetwork =
    "name the network that connects all hosts: --network 10.0.0.0/24 here, --mca "
    "btl_tcp_if_include 10.0.0.0/24 --mca oob_tcp_if_include 10.0.0.0/24 for mpirun";

struct Host {
  std::string name;
  std::unique_ptr<HostSession> session;
  std::optional<HostFacts> facts;
  std::vector<HostInterface> interfaces;  // of the networks that MPI may use
};

bool is_loopback(const std::string& address) { return begins_with(address, "127."); }

std::string describe(const std::vector<HostInterface>& interfaces) {
  std::vector<std::string> parts;
  for (const HostInterface& each : interfaces) {
    parts.push_back(each.name + " " + each.address + "/" + std::to_string(each.prefix));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

class Trial {
 public:
  explicit Trial(const HostTrial& trial) : trial_(trial) {}

  Findings run() {
    const auto began = Clock::now();
    find_names();
    const auto deadline = std::max(began + kTimeToAnswer, Clock::now() + kTimeOfShell);
    for (Host& host : hosts_) hear(host, deadline);
    for (Host& host : hosts_) judge(host);
    find_ambiguous_addresses();
    connect();
    for (Host& host : hosts_) host.session->end_input();  // so that all end at the same time
    std::stable_partition(findings_.begin(), findings_.end(),
                          [](const Finding& finding) { return finding.is_error(); });
    return findings_;
  }

 private:
  const HostTrial& trial_;
  std::vector<Host> hosts_;
  std::set<std::string> ambiguous_;  // addresses that several hosts have
  Findings findings_;

  void add(const std::string& code, const std::string& what, const std::string& fix) {
    findings_.push_back({code, what, fix, {}});
  }

  void find_names() {
    std::vector<HostName> found = look_up_all(trial_.hosts);
    const auto known = std::stable_partition(
        found.begin(), found.end(), [](const HostName& each) { return !each.error.empty(); });
    for (auto each = found.begin(); each != known; ++each) {
      add("E130",
          "the name " + each->name + " is unknown on " + kernel_host_name() + ": " + each->error,
          "correct it, or add it to /etc/hosts of every host");
    }
    found.erase(found.begin(), known);
    std::vector<std::string> names;  // an unknown one would delay the agents, too
    for (const HostName& each : found) names.push_back(each.name);
    for (const HostName& each : found) open(each, join(names, ","));
  }

  void open(const HostName& host, const std::string& names) {
    std::vector<std::string> ports;
    for (const int port : trial_.ports) ports.push_back(std::to_string(port));
    std::vector<std::string> command{trial_.program, kHostAgent, join(ports, ","), names};
    if (!is_this_host(host)) {
      std::transform(command.begin(), command.end(), command.begin(), shell_word);
      const std::string line = join(command, " ");
      command = trial_.remote_shell;
      if (std::filesystem::path(command.front()).filename() == "ssh") {
        command.insert(command.end(), {"-o", "BatchMode=yes", "-o", "ConnectTimeout=5"});
      }
      command.insert(command.end(), {host.name, line});
    }
    hosts_.push_back({host.name, std::make_unique<HostSession>(command), {}, {}});
  }

  static bool is_this_host(const HostName& found) {
    if (found.name == kernel_host_name() || found.name == "localhost") return true;
    const std::vector<HostInterface> own = own_interfaces();
    return std::any_of(own.begin(), own.end(), [&](const HostInterface& each) {
      return std::count(found.addresses.begin(), found.addresses.end(), each.address) > 0;
    });
  }

  // The answer of a host's agent; absent, and an error, if it is another one.
  template <typename Answer>
  std::optional<Answer> parse(const Host& host, const std::string& line) {
    try {
      return parse_json(line).get<Answer>();
    } catch (const std::exception&) {
      add("E133", host.name + ": " + trial_.program + " answers '" + line + "'", kInstallSame);
      return std::nullopt;
    }
  }

  void hear(Host& host, Clock::time_point deadline) {
    if (const auto line = host.session->receive(deadline)) {
      host.facts = parse<HostFacts>(host, *line);
      return;
    }
    const std::string end = host.session->describe_end(deadline + kTimeToEnd);
    if (ends_with(end, "exit code 127") || ends_with(end, "exit code 126") ||
        ends_with(end, "exit code 2")) {
      add("E133", host.name + " cannot run " + trial_.program + ": " + end, kInstallSame);
    } else {
      add("E132", join(trial_.remote_shell, " ") + " " + host.name + " does not work: " + end,
          "let `ssh " + host.name + " true` ask no question: ssh-copy-id " + host.name +
              ", and ssh-keyscan " + host.name + " >> ~/.ssh/known_hosts");
    }
  }

  void judge(Host& host) {
    if (!host.facts) return;
    if (host.facts->version != build_version()) {
      add("E133",
          host.name + " has tandem " + host.facts->version + ", this host " + build_version(),
          "install the same on every host");
    }
    for (const HostName& name : host.facts->names) judge_name(host.name, name);
    for (const HostPort& port : host.facts->ports) {
      if (port.error.empty()) continue;
      add("E134",
          "port " + std::to_string(port.port) + " of " + host.name +
              " cannot be used: " + port.error,
          "another program holds it: ss -tlnp shows which; or choose other --ports");
    }
    const bool is_any = trial_.networks.empty();
    for (const HostInterface& each : host.facts->interfaces) {
      const bool is_named = std::any_of(
          trial_.networks.begin(), trial_.networks.end(), [&](const std::string& network) {
            return network == each.name || is_in_network(each.address, network);
          });
      if (is_any || is_named) host.interfaces.push_back(each);
    }
    if (host.interfaces.empty() && (hosts_.size() > 1 || !is_any)) {
      add("E135",
          host.name + " has no interface " + (is_any ? "to others" : join(trial_.networks, ", ")) +
              "; it has " + describe(host.facts->interfaces),
          kNameNetwork);
    }
  }

  void judge_name(const std::string& host, const HostName& name) {
    if (!name.error.empty()) {
      add("E130", "the name " + name.name + " is unknown on " + host + ": " + name.error,
          "add it to /etc/hosts of every host");
      return;
    }
    const auto loopback = std::find_if(name.addresses.begin(), name.addresses.end(), is_loopback);
    if (loopback == name.addresses.end() || name.name == "localhost") return;
    const bool is_own = name.name == host;
    add(is_own ? "W131" : "E131",
        "on " + host + " the name " + name.name + " is " + *loopback +
            (is_own ? ", which no other host reaches" : ", which is " + host + " itself"),
        "remove that line of /etc/hosts on " + host + ", and give the address in the network");
  }

  void find_ambiguous_addresses() {
    std::map<std::string, std::string> owners;
    for (const Host& host : hosts_) {
      for (const HostInterface& each : host.interfaces) {
        const auto [owner, is_new] = owners.emplace(each.address, host.name);
        if (is_new || !ambiguous_.insert(each.address).second) continue;
        add("W136",
            owner->second + " and " + host.name + " both have the address " + each.address + " (" +
                each.name + ")",
            kNameNetwork);
      }
    }
  }

  std::vector<HostTarget> targets_for(const Host& source, std::vector<const Host*>& owners) const {
    std::vector<HostTarget> targets;
    for (const Host& host : hosts_) {
      if (&host == &source || !host.facts) continue;
      for (const HostInterface& each : host.interfaces) {
        if (ambiguous_.count(each.address) > 0) continue;
        for (const HostPort& port : host.facts->ports) {
          if (!port.error.empty()) continue;
          targets.push_back({each.address, port.port});
          owners.push_back(&host);
        }
      }
    }
    return targets;
  }

  void connect() {
    std::vector<std::vector<const Host*>> owners(hosts_.size());
    std::vector<std::vector<HostTarget>> targets(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!hosts_[i].facts) continue;
      targets[i] = targets_for(hosts_[i], owners[i]);
      hosts_[i].session->send(Json(targets[i]).dump());
    }
    const auto deadline = Clock::now() + kTimeToConnect;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!hosts_[i].facts) continue;
      const auto line = hosts_[i].session->receive(deadline);
      if (!line) {
        add("E132",
            "the connection to " + hosts_[i].name +
                " ended: " + hosts_[i].session->describe_end(deadline + kTimeToEnd),
            "repeat the command");
        continue;
      }
      const auto errors = parse<std::vector<std::string>>(hosts_[i], *line);
      if (!errors) continue;
      for (const Host& other : hosts_) judge_pair(hosts_[i], other, targets[i], owners[i], *errors);
    }
  }

  // If one address of the other host is reached, MPI can work once it is told to use that one.
  void judge_pair(const Host& source, const Host& other, const std::vector<HostTarget>& targets,
                  const std::vector<const Host*>& owners, const std::vector<std::string>& errors) {
    std::set<std::string> reached;
    std::optional<std::size_t> failed;
    for (std::size_t i = 0; i < targets.size() && i < errors.size(); ++i) {
      if (owners[i] != &other) continue;
      if (errors[i].empty()) reached.insert(targets[i].address);
      if (!errors[i].empty() && !failed) failed = i;
    }
    if (!failed) return;
    const HostTarget& target = targets[*failed];
    const std::string what = source.name + " does not reach port " + std::to_string(target.port) +
                             " of " + other.name + " (" + target.address + "): " + errors[*failed];
    if (reached.empty() || reached.count(target.address) > 0 || !trial_.networks.empty()) {
      const std::string range = trial_.port_range.empty() ? "all TCP ports from 1024 up"
                                                          : "TCP ports " + trial_.port_range;
      add("E134", what,
          "open " + range + " of " + other.name + " for " + source.name +
              (trial_.port_range.empty() ? ", or pin those that are open: --ports" : ""));
    } else {
      add("W136", what + ", but " + *reached.begin(), kNameNetwork);
    }
  }
};

}  // namespace

std::vector<std::string> remote_shell_of(const std::string& agents) {
  std::vector<std::string> words;
  for (const std::string& word : split(agents.substr(0, agents.find(':')), ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words.empty() ? HostTrial().remote_shell : words;
}

std::vector<Finding> try_hosts(const HostTrial& trial) { return Trial(trial).run(); }

}  // namespace tandem::app
