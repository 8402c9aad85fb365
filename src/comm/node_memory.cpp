#include "tandem/comm/node_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory_file.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 28;

// Calls `take(first, count)` piece by piece. Before each it checks that there is room for the rest,
// because other jobs allocate memory at the same time.
template <typename Take>
bool take_within_room(std::size_t bytes, Take take) {
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t left = bytes - at;
    const auto room = memory_room();
    if (room && room->bytes < left + left / 10) return false;
    if (!take(at, std::min(kPiece, left))) return false;
  }
  return true;
}

// Collective. The first rank's file, opened by all; none on all where one of them cannot.
MemoryFile open_together(Communicator& node, MemoryFile (*make)()) {
  MemoryFile file;
  if (node.rank() == 0) file = make();
  const MemoryFile::SharedFileId there = node.all_gather(file.id()).front();
  if (node.rank() != 0) file = MemoryFile::open(there);
  const bool is_open = is_true_everywhere(node, static_cast<bool>(file));
  if (node.rank() == 0 && file) file.withdraw();
  return is_open ? std::move(file) : MemoryFile();
}

}  // namespace

struct NodeMemory::Mapping {
  explicit Mapping(std::size_t size) : bytes(size) {}
  ~Mapping() { unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void unmap() {
    if (data != nullptr) ::munmap(data, bytes);
    data = nullptr;
  }
  void share(Communicator& node) {
    MemoryFile file = open_together(node, MemoryFile::make_unnamed);
    // As between containers, which may have their /dev/shm in common.
    if (!file) file = open_together(node, MemoryFile::make_in_dev_shm);
    const bool is_whole =
        node.rank() != 0 || (file && take_within_room(bytes, [&](std::size_t at, std::size_t some) {
                               return file.reserve(at, some);
                             }));
    if (is_true_everywhere(node, is_whole)) data = static_cast<std::uint8_t*>(file.map(bytes));
  }
  void keep_own() {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    data = static_cast<std::uint8_t*>(at);
    const bool is_whole = take_within_room(bytes, [&](std::size_t first, std::size_t some) {
      std::memset(data + first, 0, some);  // allocates the pages
      return true;
    });
    if (!is_whole) unmap();
  }

  const std::size_t bytes;
  std::uint8_t* data = nullptr;
  bool shared = false;
  bool fills = true;
};

NodeMemory::NodeMemory(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}

std::optional<NodeMemory> NodeMemory::share(Communicator& world, Communicator& node,
                                            std::size_t bytes) {
  auto mapping = std::make_unique<Mapping>(bytes);
  mapping->share(node);
  mapping->shared = is_true_everywhere(world, mapping->data != nullptr);
  mapping->fills = node.rank() == 0;
  if (mapping->shared) return NodeMemory(std::move(mapping));
  mapping->unmap();
  node.barrier();  // then the shared memory is free again
  return std::nullopt;
}

NodeMemory::NodeMemory(Communicator& world, Communicator& node, std::size_t bytes) {
  if (auto shared = share(world, node, bytes)) {
    mapping_ = std::move(shared->mapping_);
    return;
  }
  mapping_ = std::make_unique<Mapping>(bytes);
  // One rank at a time, so that each sees how much memory the earlier ones have allocated.
  for (int rank = 0; rank < node.size(); ++rank) {
    if (rank == node.rank()) mapping_->keep_own();
    node.barrier();
  }
  agree(world, [&] {
    if (mapping_->data != nullptr) return;
    std::string what = "no memory for " + format_bytes(bytes) + " on this host";
    if (const auto room = memory_room()) what += ": " + room->text();
    throw UnavailableError(what +
                           "; ask for more (sbatch --mem, docker run --memory), or start fewer "
                           "ranks on it");
  });
}

NodeMemory::~NodeMemory() = default;
NodeMemory::NodeMemory(NodeMemory&&) noexcept = default;

std::uint8_t* NodeMemory::data() const { return mapping_->data; }
bool NodeMemory::shared() const { return mapping_->shared; }
bool NodeMemory::fills() const { return mapping_->fills; }

}  // namespace tandem::comm
