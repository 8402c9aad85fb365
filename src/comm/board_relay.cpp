#include "board_relay.hpp"

#include <thread>
#include <utility>

#include "mpi_handle.hpp"

namespace tandem::comm {

struct BoardRelay::Link {
  struct Outgoing {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  explicit Link(MPI_Comm mpi) : comm(mpi), outgoing(static_cast<std::size_t>(comm.size)) {}

  static bool is_taken(Outgoing& each) {
    int done = 0;
    TANDEM_MPI(MPI_Test(&each.request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }

  MpiCommunicator::Handle comm;
  std::vector<Outgoing> outgoing;  // by member; MPI reads a message until it is taken
};

BoardRelay::BoardRelay(MpiCommunicator& world, bool is_member) {
  MPI_Comm mpi = MPI_COMM_NULL;
  TANDEM_MPI(MPI_Comm_split(world.handle_->mpi, is_member ? 0 : MPI_UNDEFINED, 0, &mpi));
  if (is_member) link_ = std::make_unique<Link>(mpi);
}

BoardRelay::~BoardRelay() {
  if (!link_ || !has_peers()) return;
  if (freeing_could_hang()) {
    link_.release();  // its messages may be in flight, and the job is about to end
    return;
  }
  // All members are here, so whatever was sent is taken.
  MPI_Barrier(link_->comm.mpi);
  for (Link::Outgoing& each : link_->outgoing) {
    while (!Link::is_taken(each)) {
      receive([](const Message&) {});
      std::this_thread::yield();
    }
  }
  receive([](const Message&) {});
}

bool BoardRelay::has_peers() const { return link_ && link_->comm.size > 1; }

void BoardRelay::send(const Message& message) {
  for (int member = 0; member < link_->comm.size; ++member) {
    Link::Outgoing& each = link_->outgoing[static_cast<std::size_t>(member)];
    if (member == link_->comm.rank || !Link::is_taken(each)) continue;
    each.message = message;
    TANDEM_MPI(MPI_Isend(each.message.data(), static_cast<int>(message.size()), MPI_BYTE, member, 0,
                         link_->comm.mpi, &each.request));
  }
}

void BoardRelay::receive(const std::function<void(const Message&)>& take) {
  while (true) {
    int found = 0;
    MPI_Status status;
    TANDEM_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 0, link_->comm.mpi, &found, &status));
    if (found == 0) return;
    int bytes = 0;
    TANDEM_MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
    Message message(static_cast<std::size_t>(bytes));
    TANDEM_MPI(MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, 0, link_->comm.mpi,
                        MPI_STATUS_IGNORE));
    take(message);
  }
}

}  // namespace tandem::comm
