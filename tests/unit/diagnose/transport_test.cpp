#include "diagnose/transport.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace tandem::app {
namespace {

constexpr std::size_t kSent = 100'000;
constexpr int kSegment = 1000;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) { EXPECT_GE(descriptor, 0); }
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Sends bytes through loopback in segments of at most `most` bytes; 0: as the system chooses.
class Connection {
 public:
  explicit Connection(int most) {
    const int at_once = 1;
    EXPECT_EQ(::setsockopt(client_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once), 0);
    if (most > 0) {
      EXPECT_EQ(::setsockopt(client_.get(), IPPROTO_TCP, TCP_MAXSEG, &most, sizeof most), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), at, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), at, &size), 0);
    EXPECT_EQ(::connect(client_.get(), at, size), 0);
    const Socket server(::accept(listener_.get(), nullptr, nullptr));
    std::vector<char> bytes(1000);
    for (std::size_t sent = 0; sent < kSent; sent += bytes.size()) {
      EXPECT_EQ(::send(client_.get(), bytes.data(), bytes.size(), 0), 1000);
      EXPECT_EQ(::recv(server.get(), bytes.data(), bytes.size(), MSG_WAITALL), 1000);
    }
    // The end of the stream arrives after all bytes have been acknowledged.
    ::shutdown(server.get(), SHUT_WR);
    EXPECT_EQ(::recv(client_.get(), bytes.data(), bytes.size(), 0), 0);
  }

 private:
  const Socket listener_{::socket(AF_INET, SOCK_STREAM, 0)};
  const Socket client_{::socket(AF_INET, SOCK_STREAM, 0)};
};

TEST(TcpSegment, IsTheLargestOfTheConnectionsThatSentEnough) {
  EXPECT_EQ(largest_tcp_segment(0), 0U) << "no connection";
  const Connection of_short_segments(kSegment);
  const std::uint32_t found = largest_tcp_segment(kSent);
  EXPECT_GT(found, 0U);
  EXPECT_LE(found, 1U * kSegment);
  EXPECT_EQ(largest_tcp_segment(kSent + 10), 0U) << "it sent less";
  const Connection of_long_segments(0);
  EXPECT_GT(largest_tcp_segment(kSent), 1U * kSegment);
}

}  // namespace
}  // namespace tandem::app
