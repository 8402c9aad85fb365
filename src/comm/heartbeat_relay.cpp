#include "heartbeat_relay.hpp"

#include <thread>

#include "mpi_handle.hpp"

namespace tandem::comm {

namespace {

constexpr int kStatus = 0;   // tags
constexpr int kGoodbye = 1;  // the last message of a member to another

}  // namespace

struct HeartbeatRelay::Link {
  struct Outgoing {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  explicit Link(MPI_Comm mpi) : comm(mpi), outgoing(static_cast<std::size_t>(comm.size)) {}

  static bool has_left(Outgoing& each) {
    int done = 0;
    TANDEM_MPI(MPI_Test(&each.request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }
  void start(int member, const Message& message, int tag) {
    Outgoing& each = outgoing[static_cast<std::size_t>(member)];
    each.message = message;
    TANDEM_MPI(MPI_Isend(each.message.data(), static_cast<int>(message.size()), MPI_BYTE, member,
                         tag, comm.mpi, &each.request));
  }

  MpiCommunicator::Handle comm;
  std::vector<Outgoing> outgoing;  // by member; MPI reads a message until it has left
  int goodbyes = 0;                // that have come in
};

HeartbeatRelay::HeartbeatRelay(MpiCommunicator& world, bool is_member) {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_split(world.handle_->mpi, is_member ? 0 : MPI_UNDEFINED, 0, &mpi));
  if (is_member) link_ = std::make_unique<Link>(mpi);
}

HeartbeatRelay::~HeartbeatRelay() {
  if (!link_ || !has_peers()) return;
  try {
    send_goodbyes();
  } catch (const std::exception&) {
    abandon();  // MPI failed between hosts; the job's own next MPI call reports it
  }
}

// Messages of one member arrive in order, so after the goodbye of each nothing is under way.
void HeartbeatRelay::send_goodbyes() {
  for (int member = 0; member < link_->comm.size; ++member) {
    if (member == link_->comm.rank) continue;
    Link::Outgoing& each = link_->outgoing[static_cast<std::size_t>(member)];
    while (!Link::has_left(each)) receive([](const Message&) {});
    link_->start(member, {}, kGoodbye);
  }
  while (link_->goodbyes + 1 < link_->comm.size) {
    receive([](const Message&) {});
    std::this_thread::yield();
  }
  for (Link::Outgoing& each : link_->outgoing) {
    TANDEM_MPI(MPI_Wait(&each.request, MPI_STATUS_IGNORE));
  }
}

bool HeartbeatRelay::has_peers() const { return link_ && link_->comm.size > 1; }

void HeartbeatRelay::send(const Message& message) {
  for (int member = 0; member < link_->comm.size; ++member) {
    Link::Outgoing& each = link_->outgoing[static_cast<std::size_t>(member)];
    if (member != link_->comm.rank && Link::has_left(each)) link_->start(member, message, kStatus);
  }
}

void HeartbeatRelay::receive(const std::function<void(const Message&)>& take) {
  while (true) {
    int found = 0;
    MPI_Status status;
    TANDEM_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, link_->comm.mpi, &found, &status));
    if (found == 0) return;
    int bytes = 0;
    TANDEM_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
    Message message(static_cast<std::size_t>(bytes));
    TANDEM_MPI(MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                        link_->comm.mpi, MPI_STATUS_IGNORE));
    if (status.MPI_TAG == kGoodbye) {
      ++link_->goodbyes;
    } else {
      take(message);
    }
  }
}

}  // namespace tandem::comm
