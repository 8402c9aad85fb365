// How the messages of this process reach other hosts, according to its open files. Neither MPI nor
// its settings report reliably which component MPI chose.
#pragma once

#include <string>

namespace tandem::app {

// "TCP on eth0", "RDMA device /dev/infiniband/uverbs0", or several with commas; "" if no connection
// leaves this host. Call it after messages between all hosts. Does not throw.
std::string describe_transport();

}  // namespace tandem::app
