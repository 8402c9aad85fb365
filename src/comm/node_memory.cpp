#include "tandem/comm/node_memory.hpp"

#include <sys/statvfs.h>

#include <new>
#include <vector>

#include "mpi_handle.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {

namespace {

// Where Open MPI keeps the memory of a window.
constexpr const char* kBackingFolder = "/dev/shm";

// Open MPI 4.1 notices a lack of room on the first rank of a host alone and leaves the others
// waiting for it, so the room is looked at before. Its own margin is 5 %.
bool has_room_for(std::size_t bytes) {
  struct statvfs status {};
  if (statvfs(kBackingFolder, &status) != 0) return false;
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  return free > bytes + bytes / 10;
}

}  // namespace

struct NodeMemory::Window {
  MPI_Win mpi = MPI_WIN_NULL;
  std::uint8_t* data = nullptr;
  std::vector<std::uint8_t> own;
  bool fills = true;
  ~Window() {
    if (mpi != MPI_WIN_NULL && !freeing_could_hang()) MPI_Win_free(&mpi);
  }
};

NodeMemory::NodeMemory(MpiCommunicator& world, MpiCommunicator& node, std::size_t bytes)
    : window_(std::make_unique<Window>()) {
  const auto on_all_ranks = [&](bool here) {
    return world.all_reduce_value<std::int64_t>(here ? 1 : 0, Reduction::kMin) == 1;
  };
  bool shared = on_all_ranks(has_room_for(bytes));
  if (shared) {
    // The first rank of the host asks for all of it, the others for nothing and then for its
    // address.
    const MPI_Aint mine = node.rank() == 0 ? static_cast<MPI_Aint>(bytes) : 0;
    void* base = nullptr;
    const int code =
        MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, node.handle_->mpi, &base, &window_->mpi);
    shared = on_all_ranks(code == MPI_SUCCESS);
    // Freeing is collective, so a window that not every rank has must stay until the program ends.
    if (!shared) window_->mpi = MPI_WIN_NULL;
  }
  if (shared) {
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    TANDEM_MPI(MPI_Win_shared_query(window_->mpi, 0, &size, &unit, &base));
    window_->data = static_cast<std::uint8_t*>(base);
    window_->fills = node.rank() == 0;
  } else {
    try {
      window_->own.resize(bytes);
    } catch (const std::bad_alloc&) {
      throw UnavailableError("no memory for " + format_bytes(bytes) +
                             " of images on this host; ask for more, or start fewer ranks on it");
    }
    window_->data = window_->own.data();
  }
}

NodeMemory::~NodeMemory() = default;
NodeMemory::NodeMemory(NodeMemory&&) noexcept = default;

std::uint8_t* NodeMemory::data() const { return window_->data; }
bool NodeMemory::shared() const { return window_->mpi != MPI_WIN_NULL; }
bool NodeMemory::fills() const { return window_->fills; }

}  // namespace tandem::comm
