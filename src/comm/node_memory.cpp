#include "tandem/comm/node_memory.hpp"

#include <vector>

#include "mpi_handle.hpp"

namespace tandem::comm {

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
  // The first rank of the host asks for all of it, the others for nothing and then for its address.
  const MPI_Aint mine = node.rank() == 0 ? static_cast<MPI_Aint>(bytes) : 0;
  void* base = nullptr;
  const int code =
      MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, node.handle_->mpi, &base, &window_->mpi);
  const bool here = code == MPI_SUCCESS;
  if (!here) window_->mpi = MPI_WIN_NULL;
  const bool everywhere = world.all_reduce_value<std::int64_t>(here ? 1 : 0, Reduction::kMin) == 1;
  if (everywhere) {
    MPI_Aint size = 0;
    int unit = 0;
    TANDEM_MPI(MPI_Win_shared_query(window_->mpi, 0, &size, &unit, &base));
    window_->data = static_cast<std::uint8_t*>(base);
    window_->fills = node.rank() == 0;
    return;
  }
  if (here) TANDEM_MPI(MPI_Win_free(&window_->mpi));
  window_->own.resize(bytes);
  window_->data = window_->own.data();
}

NodeMemory::~NodeMemory() = default;
NodeMemory::NodeMemory(NodeMemory&&) noexcept = default;

std::uint8_t* NodeMemory::data() const { return window_->data; }
bool NodeMemory::shared() const { return window_->own.empty() && window_->mpi != MPI_WIN_NULL; }
bool NodeMemory::fills() const { return window_->fills; }

}  // namespace tandem::comm
