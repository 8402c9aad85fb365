// How the messages of this process travel, according to its open files. Neither MPI nor its
// settings report reliably which component MPI chose. Does not throw.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::app {

// "TCP on eth0", "RDMA device /dev/infiniband/uverbs0", or several with commas; "" if no connection
// leaves this host. Call it after messages between all hosts.
std::string describe_transport();

// The largest segment, in bytes, of a TCP connection by which this process has sent at least `sent`
// bytes; 0 if there is none.
std::uint32_t largest_tcp_segment(std::uint64_t sent);

}  // namespace tandem::app
