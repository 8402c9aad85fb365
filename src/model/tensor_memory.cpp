#include "tandem/model/tensor_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

// Smaller ones are malloc's business: there are many, of many sizes, and they cost no page faults.
constexpr std::size_t kSmallestKept = std::size_t{64} << 10;
constexpr std::size_t kAlignment = 64;  // as libtorch's own allocator's: a cache line, a vector

// Blocks start and end at pages, so that unused ones can be returned to the kernel.
constexpr std::size_t kPage = 4096;

std::size_t rounded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Memory from the kernel, cut into blocks. Unused neighbors are one block, so a large tensor gets
// what small ones leave. For 128 images of `resnet9` in bf16 this takes 238 MB, where the tensors
// have 234 MB at their peak. Lists of unused blocks by size take 347 MB.
// Every block in use owns a share, because tensors of libtorch's own may end after main().
class Blocks {
 public:
  ~Blocks() { release(); }

  // nullptr without memory.
  void* take(std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.reserve(blocks_.size() + 1);  // before a block is mapped that would be lost
    if (void* unused = take_unused(bytes)) return unused;
    void* block = map(bytes);
    if (block == nullptr) {
      release_unused();
      block = map(bytes);
    }
    if (block != nullptr) {
      const Block added{static_cast<char*>(block), bytes, false};
      blocks_.insert(at(added.begin), added);
    }
    return block;
  }

  // Does not throw, because tensors are freed in destructors.
  void give_back(void* begin) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = at(static_cast<char*>(begin));
    block->is_unused = true;
    join_with_next(block);
    if (block != blocks_.begin()) join_with_next(block - 1);
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    release_unused();
  }

 private:
  struct Block {
    char* begin;
    std::size_t bytes;
    bool is_unused;
  };
  using Place = std::vector<Block>::iterator;

  static void* map(std::size_t bytes) {
    void* block =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  }

  // The block at `begin`, or the place of one.
  Place at(const char* begin) {
    return std::lower_bound(blocks_.begin(), blocks_.end(), begin,
                            [](const Block& block, const char* to) { return block.begin < to; });
  }

  // The front of the smallest that is large enough. A step has some hundred blocks, so a search by
  // size needs no index.
  void* take_unused(std::size_t bytes) {
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (!block->is_unused || block->bytes < bytes) continue;
      if (best == blocks_.end() || block->bytes < best->bytes) best = block;
    }
    if (best == blocks_.end()) return nullptr;
    const Block rest{best->begin + bytes, best->bytes - bytes, true};
    best->bytes = bytes;
    best->is_unused = false;
    char* const begin = best->begin;
    if (rest.bytes > 0) blocks_.insert(best + 1, rest);
    return begin;
  }

  void join_with_next(Place block) {
    const auto next = block + 1;
    if (next == blocks_.end() || !block->is_unused || !next->is_unused) return;
    if (block->begin + block->bytes != next->begin) return;
    block->bytes += next->bytes;
    blocks_.erase(next);
  }

  void release_unused() {
    const auto is_released = [](const Block& block) {
      return block.is_unused && ::munmap(block.begin, block.bytes) == 0;
    };
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(), is_released), blocks_.end());
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;  // by address
};

// Precedes the bytes of a tensor, because libtorch's `raw_deallocate` gets only their address.
struct alignas(kAlignment) Header {
  std::shared_ptr<Blocks> owner;  // none for a small block, which is malloc's
};
static_assert(sizeof(Header) == kAlignment);

void end_block(void* data) {
  if (data == nullptr) return;
  auto* header = static_cast<Header*>(data) - 1;
  const std::shared_ptr<Blocks> owner = std::move(header->owner);
  header->~Header();
  if (owner == nullptr) {
    std::free(header);
  } else {
    owner->give_back(header);
  }
}

// Later libtorch took `const` from `allocate` and added `copy_data`, so these don't say `override`.
// Nor does the third, because clang then warns about the others.
class BlockAllocator final : public c10::Allocator {
 public:
  // NOLINTBEGIN(modernize-use-override)
  c10::DataPtr allocate(std::size_t bytes) { return tensor(bytes); }
  c10::DataPtr allocate(std::size_t bytes) const { return tensor(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &end_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  // NOLINTEND(modernize-use-override)

  void release() const { blocks_->release(); }

 private:
  c10::DataPtr tensor(std::size_t bytes) const {
    void* data = bytes == 0 ? nullptr : block(bytes);
    return {data, data, &end_block, c10::Device(c10::DeviceType::CPU)};
  }

  void* block(std::size_t bytes) const {
    const bool is_kept = bytes >= kSmallestKept;
    const std::size_t whole = is_kept ? rounded(bytes + sizeof(Header)) : bytes + sizeof(Header);
    void* memory = nullptr;
    if (is_kept) {
      memory = blocks_->take(whole);
    } else if (::posix_memalign(&memory, kAlignment, whole) != 0) {
      memory = nullptr;
    }
    if (memory == nullptr) {
      throw UnavailableError("a tensor needs " + format_bytes(bytes) + ", " + kNoTensorMemory +
                             "; use smaller batches, or fewer ranks on a host");
    }
    return new (memory) Header{is_kept ? blocks_ : nullptr} + 1;
  }

  std::shared_ptr<Blocks> blocks_ = std::make_shared<Blocks>();
};

}  // namespace

TensorMemory::TensorMemory()
    : allocator_(std::make_unique<BlockAllocator>()),
      previous_(c10::GetAllocator(c10::DeviceType::CPU)) {
  c10::SetAllocator(c10::DeviceType::CPU, allocator_.get());
}

TensorMemory::~TensorMemory() { c10::SetAllocator(c10::DeviceType::CPU, previous_); }

void release_unused_memory() {
  const auto* blocks = dynamic_cast<BlockAllocator*>(c10::GetAllocator(c10::DeviceType::CPU));
  if (blocks != nullptr) blocks->release();
  ::malloc_trim(0);
}

}  // namespace tandem::model
