// The message for ranks that did not connect, with host, GPU, addresses and settings of each.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

// "eth0 10.0.0.1, docker0 172.17.0.1": those that are up, without the loopback.
std::string interface_addresses();

// "NCCL_DEBUG=INFO NCCL_IB_DISABLE=1", sorted; "no NCCL_* settings" without any.
std::string nccl_settings();

struct ConnectReport {
  bool connected;
  std::string place;  // host, GPU, addresses and settings
};

// `ranks`: by rank. One line with the ranks that did not connect and the fix, then one line per
// rank.
std::string describe_connect_timeout(double seconds, const std::vector<ConnectReport>& ranks);

}  // namespace tandem::comm
