// The message for ranks that did not connect, with host, GPU, addresses and settings of each.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

// "eth0 10.0.0.1, docker0 172.17.0.1": those that are up, without the loopback.
std::string interface_addresses();

// "NCCL_DEBUG=INFO NCCL_IB_DISABLE=1", sorted; "no NCCL_* settings" where there are none.
std::string nccl_settings();

struct ConnectReport {
  bool connected;
  std::string place;  // host, GPU, addresses and settings
};

// By rank. One line that says which ranks did not connect and what to do, then one for each rank.
std::string describe_connect_timeout(double seconds, const std::vector<ConnectReport>& ranks);

}  // namespace tandem::comm
