#include "nccl_report.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "tandem/core/text.hpp"

namespace tandem::comm {

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
    if (setting.rfind("NCCL_", 0) == 0) found.push_back(setting);
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? "no NCCL_* settings" : join(found, " ");
}

std::string describe_connect_timeout(double seconds, const std::vector<ConnectReport>& ranks) {
  std::vector<std::string> missing;
  std::string lines;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string number = std::to_string(rank);
    if (!ranks[rank].connected) missing.push_back(number);
    lines += "\n  rank " + number + (ranks[rank].connected ? " connected: " : " waits: ") +
             ranks[rank].place;
  }
  std::string who = missing.size() == 1 ? "rank " : "ranks ";
  who += join(missing, ", ");
  if (missing.size() == ranks.size()) who = "any rank";
  return "NCCL did not connect " + who + " of " + std::to_string(ranks.size()) + " within " +
         format_real(seconds) +
         " s (--init-timeout); name an interface by which all hosts reach each other in "
         "NCCL_SOCKET_IFNAME, open the firewall between them, and see what NCCL_DEBUG=INFO says" +
         lines;
}

}  // namespace tandem::comm
