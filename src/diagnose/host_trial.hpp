// Tests the hosts of a job one by one, before MPI connects them: names, ssh, the program, the
// network and its ports. Most of these faults would make MPI hang.
#pragma once

#include <string>
#include <vector>

#include "finding.hpp"

namespace tandem::app {

struct HostTrial {
  std::vector<std::string> hosts;     // names
  std::vector<int> ports = {0};       // that MPI will use, the first and the last; 0: any free one
  std::string port_range;             // "20000-20199"; "": not pinned
  std::vector<std::string> networks;  // "eth0", "10.0.0.0/24"; empty: all
  std::string program;                // path, on every host
  // Called as ssh is, with host and command behind its own words.
  std::vector<std::string> remote_shell = {"ssh"};
};

// The first agent in a value of Open MPI's parameter plm_rsh_agent, such as "ssh -q : rsh"; ssh if
// it names none.
std::vector<std::string> remote_shell_of(const std::string& agents);

// E130 to E135, W131 and W136; empty if nothing is wrong. Takes at most 20 s. Throws
// UnavailableError if the program or `remote_shell` cannot be started here.
std::vector<Finding> try_hosts(const HostTrial& trial);

}  // namespace tandem::app
