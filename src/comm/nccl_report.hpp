// The messages for ranks that did not connect, with host, GPU, addresses and settings of each.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

// "eth0 10.0.0.1, docker0 172.17.0.1": those that are up, without the loopback.
std::string interface_addresses();

// "NCCL_DEBUG=INFO NCCL_IB_DISABLE=1", sorted; "no NCCL_* settings" without any.
std::string nccl_settings();

// "; /dev/shm of n1 has 64.0 MiB, …" with the fix, if it has no more than a container's default;
// else "". NCCL exchanges the data of a host's GPUs there.
std::string small_shared_memory(const std::string& folder = "/dev/shm");

// Why ranks of these versions of NCCL, by rank, cannot connect; "" if all have the same.
std::string describe_versions(const std::vector<std::string>& versions,
                              const std::vector<std::string>& hosts);

struct ConnectReport {
  bool connected;
  std::string place;  // host, GPU, addresses and settings
};

// `ranks`: by rank. One line with the ranks that did not connect and the fix, then one line per
// rank.
std::string describe_connect_timeout(double seconds, const std::vector<ConnectReport>& ranks);

}  // namespace tandem::comm
