#include "transport.hpp"

#include <ifaddrs.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;

// Of InfiniBand and RoCE, Omni-Path, Slingshot and EFA.
constexpr const char* kDevices[] = {"/dev/infiniband/uverbs", "/dev/hfi1", "/dev/cxi"};

// The bytes of an IP address; "" of another kind. IPv4 within IPv6 is IPv4.
std::string address_of(const sockaddr* socket) {
  if (socket->sa_family == AF_INET) {
    const auto* const four = reinterpret_cast<const sockaddr_in*>(socket);
    return std::string(reinterpret_cast<const char*>(&four->sin_addr), sizeof four->sin_addr);
  }
  if (socket->sa_family != AF_INET6) return "";
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(socket);
  const std::string bytes(reinterpret_cast<const char*>(&six->sin6_addr), sizeof six->sin6_addr);
  return IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? bytes.substr(12) : bytes;
}

struct Interface {
  std::string address;
  std::string name;
};

std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr) all.push_back({address_of(each->ifa_addr), each->ifa_name});
  }
  ::freeifaddrs(first);
  return all;
}

using GetName = int (*)(int, sockaddr*, socklen_t*);

// Of one end of a socket; "" if the descriptor is no connection by IP.
std::string address_by(GetName get_name, int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return get_name(descriptor, address, &size) == 0 ? address_of(address) : "";
}

// "eth0" of a connection to another host.
std::string interface_of(int descriptor, const std::vector<Interface>& interfaces) {
  const std::string peer = address_by(::getpeername, descriptor);
  const std::string mine = address_by(::getsockname, descriptor);
  std::string name;
  for (const Interface& each : interfaces) {
    if (!peer.empty() && each.address == peer) return "";  // this host
    if (!mine.empty() && each.address == mine) name = each.name;
  }
  return peer.empty() || name == "lo" ? "" : name;
}

struct OpenFile {
  int descriptor;
  std::string target;  // "/dev/null", "socket:[1234]"
  bool is_socket() const { return begins_with(target, "socket:"); }
};

std::vector<OpenFile> open_files() {
  std::vector<OpenFile> files;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/self/fd", error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    files.push_back({std::atoi(entry->path().filename().c_str()),
                     fs::read_symlink(entry->path(), gone).string()});
  }
  return files;
}

}  // namespace

std::string describe_transport() {
  std::set<std::string> found;
  const std::vector<Interface> all = interfaces();
  for (const OpenFile& file : open_files()) {
    for (const char* device : kDevices) {
      if (begins_with(file.target, device)) found.insert("RDMA device " + file.target);
    }
    if (!file.is_socket()) continue;
    const std::string name = interface_of(file.descriptor, all);
    if (!name.empty()) found.insert("TCP on " + name);
  }
  return join({found.begin(), found.end()}, ", ");
}

std::uint32_t largest_tcp_segment(std::uint64_t sent) {
  std::uint32_t largest = 0;
  for (const OpenFile& file : open_files()) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (!file.is_socket() ||
        ::getsockopt(file.descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
      continue;
    }
    if (info.tcpi_bytes_acked >= sent) largest = std::max(largest, info.tcpi_snd_mss);
  }
  return largest;
}

}  // namespace tandem::app
