#include "host_agent.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <future>
#include <iostream>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMaxSeconds = 60;
constexpr std::int64_t kMaxPort = 65'535;

std::string text_of_address(const in_addr& address) {
  char text[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

sockaddr_in end_point(const in_addr& address, int port) {
  sockaddr_in point{};
  point.sin_family = AF_INET;
  point.sin_addr = address;
  point.sin_port = htons(static_cast<std::uint16_t>(port));
  return point;
}

// Listens on a port of all addresses; 0 is any free one. The kernel completes connections without
// accept().
HostPort listen_on(int port, std::vector<File>& kept) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return {port, errno_text()};
  kept.emplace_back(descriptor, "a socket");
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in point = end_point({htonl(INADDR_ANY)}, port);
  socklen_t size = sizeof point;
  auto* const address = reinterpret_cast<sockaddr*>(&point);
  if (::bind(descriptor, address, size) != 0 || ::listen(descriptor, SOMAXCONN) != 0 ||
      ::getsockname(descriptor, address, &size) != 0) {
    return {port, errno_text()};
  }
  return {ntohs(point.sin_port), ""};
}

// A connection under way, or the error of its start.
struct Attempt {
  pollfd waiting{-1, POLLOUT, 0};
  std::string error;
};

Attempt begin(const HostTarget& target, std::vector<File>& kept) {
  in_addr address{};
  if (::inet_pton(AF_INET, target.address.c_str(), &address) != 1)
    return {{-1, 0, 0}, "is no address"};
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return {{-1, 0, 0}, errno_text()};
  kept.emplace_back(descriptor, "a socket");
  const sockaddr_in point = end_point(address, target.port);
  const int code = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&point), sizeof point);
  if (code == 0) return {{-1, 0, 0}, ""};
  if (errno != EINPROGRESS) return {{-1, 0, 0}, errno_text()};
  return {{descriptor, POLLOUT, 0}, "no answer within " + std::to_string(kConnectSeconds) + " s"};
}

// All at once.
std::vector<std::string> connect_to(const std::vector<HostTarget>& targets) {
  std::vector<File> kept;
  std::vector<std::string> errors;
  std::vector<pollfd> waiting;
  for (const HostTarget& target : targets) {
    const Attempt attempt = begin(target, kept);
    errors.push_back(attempt.error);
    waiting.push_back(attempt.waiting);
  }
  const auto deadline = Clock::now() + std::chrono::seconds(kConnectSeconds);
  const auto is_waiting = [](const pollfd& each) { return each.fd >= 0; };
  while (std::any_of(waiting.begin(), waiting.end(), is_waiting)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(waiting[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      errors[i] = error == 0 ? "" : errno_text(error);
      waiting[i].fd = -1;
    }
  }
  return errors;
}

HostName look_up(const std::string& name) {
  HostName found{name, {}, ""};
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int code = ::getaddrinfo(name.c_str(), nullptr, &wanted, &first);
  if (code != 0) {
    found.error = ::gai_strerror(code);
    return found;
  }
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    const auto* const point = reinterpret_cast<const sockaddr_in*>(each->ai_addr);
    found.addresses.push_back(text_of_address(point->sin_addr));
  }
  ::freeaddrinfo(first);
  return found;
}

}  // namespace

std::vector<HostName> look_up_all(const std::vector<std::string>& names) {
  std::vector<std::future<HostName>> answers;
  answers.reserve(names.size());
  for (const std::string& name : names) {
    answers.push_back(std::async(std::launch::async, look_up, name));
  }
  std::vector<HostName> found;
  found.reserve(names.size());
  for (std::future<HostName>& answer : answers) found.push_back(answer.get());
  return found;
}

std::vector<HostInterface> own_interfaces() {
  std::vector<HostInterface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const auto* const point = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (ntohl(point->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) continue;
    const auto* const mask = reinterpret_cast<const sockaddr_in*>(each->ifa_netmask);
    const std::bitset<32> bits(mask == nullptr ? ~0U : mask->sin_addr.s_addr);
    all.push_back(
        {each->ifa_name, text_of_address(point->sin_addr), static_cast<int>(bits.count())});
  }
  ::freeifaddrs(first);
  return all;
}

bool is_in_network(const std::string& address, const std::string& network) {
  const std::size_t slash = network.find('/');
  in_addr one{};
  in_addr other{};
  if (::inet_pton(AF_INET, address.c_str(), &one) != 1 ||
      ::inet_pton(AF_INET, network.substr(0, slash).c_str(), &other) != 1) {
    return false;
  }
  const std::int64_t bits =
      slash == std::string::npos ? 32 : parse_integer(network.substr(slash + 1), 0, 32, network);
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return ((ntohl(one.s_addr) ^ ntohl(other.s_addr)) & mask) == 0;
}

int run_host_agent(const std::vector<std::string>& words) {
  if (words.size() != 2) throw UsageError("__host: PORTS and NAMES are expected");
  ::alarm(kMaxSeconds);  // if the other side is gone and the connection does not end
  HostFacts facts;
  facts.version = build_version();
  facts.interfaces = own_interfaces();
  std::vector<File> sockets;
  for (const std::string& port : split(words[0], ',')) {
    const auto number = static_cast<int>(parse_integer(port, 0, kMaxPort, "__host"));
    facts.ports.push_back(listen_on(number, sockets));
  }
  facts.names = look_up_all(split(words[1], ','));
  print_line(dump_as_ascii(Json(facts)));
  for (std::string line; std::getline(std::cin, line);) {
    const auto targets = parse_json(line).get<std::vector<HostTarget>>();
    print_line(Json(connect_to(targets)).dump());
  }
  return 0;
}

}  // namespace tandem::app
