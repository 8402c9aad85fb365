#include "nccl_report.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "tandem/core/host.hpp"
#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

constexpr std::uint64_t kContainersDefault = std::uint64_t{64} << 20;  // Docker's /dev/shm

}  // namespace

std::string interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return "interfaces unknown";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<std::string> found;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET6_ADDRSTRLEN] = "";
    const int family = each->ifa_addr->sa_family;
    if (family == AF_INET) {
      const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      ::inet_ntop(family, &address->sin_addr, text, sizeof text);
    } else if (family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      ::inet_ntop(family, &address->sin6_addr, text, sizeof text);
    } else {
      continue;
    }
    found.push_back(std::string(each->ifa_name) + " " + text);
  }
  return found.empty() ? "no interface but the loopback" : join(found, ", ");
}

std::string nccl_settings() {
  std::vector<std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string setting(*each);
    if (begins_with(setting, "NCCL_")) found.push_back(setting);
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? "no NCCL_* settings" : join(found, " ");
}

std::string small_shared_memory(const std::string& folder) {
  struct statvfs status {};
  const bool is_there = ::statvfs(folder.c_str(), &status) == 0;
  const std::uint64_t bytes = std::uint64_t{status.f_blocks} * status.f_frsize;
  if (is_there && bytes > kContainersDefault) return "";
  return "; " + folder + " of " + kernel_host_name() +
         (is_there ? " has " + format_bytes(bytes) : std::string(" is missing")) +
         ", and NCCL needs more within a host: docker run --shm-size=1g";
}

std::string describe_versions(const std::vector<std::string>& versions,
                              const std::vector<std::string>& hosts) {
  for (std::size_t rank = 1; rank < versions.size(); ++rank) {
    if (versions[rank] == versions[0]) continue;
    return "rank 0 (" + hosts[0] + ") has NCCL " + versions[0] + ", rank " + std::to_string(rank) +
           " (" + hosts[rank] + ") has NCCL " + versions[rank] +
           "; NCCL connects ranks of one version only: install the same on every host, or name its "
           "folder in LD_LIBRARY_PATH. tandem info shows what a host has";
  }
  return "";
}

std::string describe_connect_timeout(double seconds, const std::vector<ConnectReport>& ranks) {
  std::vector<int> missing;
  std::string lines;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string number = std::to_string(rank);
    if (!ranks[rank].connected) missing.push_back(static_cast<int>(rank));
    lines += "\n  rank " + number + (ranks[rank].connected ? " connected: " : " waits: ") +
             ranks[rank].place;
  }
  const bool none_connected = missing.size() == ranks.size();
  return "NCCL did not connect " + (none_connected ? "any rank" : name_ranks(missing)) + " of " +
         std::to_string(ranks.size()) + " within " + format_real(seconds) +
         " s (--init-timeout); name an interface by which all hosts reach each other in "
         "NCCL_SOCKET_IFNAME, open the firewall between them, and see what NCCL_DEBUG=INFO says" +
         lines;
}

}  // namespace tandem::comm
