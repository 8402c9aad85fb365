// Sends small messages between the watchdogs of the hosts, and never waits for one that does not
// receive. Construct and destroy it on the main thread, use it on the watchdog's. Throws
// InternalError.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {

class HeartbeatRelay {
 public:
  using Message = std::vector<std::uint8_t>;  // a few kB: MPI sends it at once

  // Collective. Members represent the ranks of their host; there must be at least one.
  HeartbeatRelay(MpiCommunicator& world, bool is_member);
  // Collective, unless it was abandoned.
  ~HeartbeatRelay();
  // Messages may be in flight, and MPI may have ended, so the MPI objects are never freed.
  void abandon() { static_cast<void>(link_.release()); }

  // Whether there are other members.
  bool has_peers() const;
  // Sends to every member to which the previous message has left.
  void send(const Message& message);
  // Calls `take` with each message that has arrived.
  void receive(const std::function<void(const Message&)>& take);

 private:
  struct Link;
  void send_goodbyes();

  std::unique_ptr<Link> link_;  // on members
};

}  // namespace tandem::comm
