// Tests from one host whether it resolves and reaches the other hosts of a job. `tandem doctor
// --hosts` starts it on every host, by ssh or directly. Both sides exchange lines of JSON.
#pragma once

#include <string>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::app {

// The hidden word of the command line: tandem __host PORTS NAMES, both with commas.
inline constexpr const char* kHostAgent = "__host";

struct HostInterface {
  std::string name;     // "eth0"
  std::string address;  // IPv4; loopback ones are left out
  int prefix = 32;      // bits of its network
};
TANDEM_JSON_STRUCT(HostInterface, name, address, prefix)

// IPv4 addresses of a name as this host resolves it, or the error.
struct HostName {
  std::string name;
  std::vector<std::string> addresses;
  std::string error;
};
TANDEM_JSON_STRUCT(HostName, name, addresses, error)

// A TCP port on which the host listens for the trial.
struct HostPort {
  int port = 0;
  std::string error;  // why it cannot be used
};
TANDEM_JSON_STRUCT(HostPort, port, error)

// The first line that the agent prints.
struct HostFacts {
  std::string version;  // of the program
  std::vector<HostInterface> interfaces;
  std::vector<HostName> names;
  std::vector<HostPort> ports;
};
TANDEM_JSON_STRUCT(HostFacts, version, interfaces, names, ports)

// A connection to test. The agent reads a line with a list of them. Within kConnectSeconds it
// returns a list of errors in that order, "" for success.
struct HostTarget {
  std::string address;
  int port = 0;
};
TANDEM_JSON_STRUCT(HostTarget, address, port)
inline constexpr int kConnectSeconds = 3;

// In the order of `names`. Looks them up at once, because a silent server takes seconds for each.
std::vector<HostName> look_up_all(const std::vector<std::string>& names);
std::vector<HostInterface> own_interfaces();
// Whether an IPv4 address is in "10.0.0.0/24", or is this address. False for the name of an
// interface; UsageError for a prefix that is no number from 0 to 32.
bool is_in_network(const std::string& address, const std::string& network);

// Serves until its standard input ends, at most a minute. The exit code.
int run_host_agent(const std::vector<std::string>& words);

}  // namespace tandem::app
