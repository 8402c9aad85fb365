#include "tandem/model/tensor_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

// Smaller ones are malloc's business: there are many, of many sizes, and they cost no page faults.
constexpr std::size_t kSmallestKept = std::size_t{64} << 10;
constexpr std::size_t kAlignment = 64;  // as libtorch's own allocator's: a cache line, a vector

// Eight sizes for each power of two: at most an eighth of a block is not used.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = kSmallestKept / 8;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

// Blocks that no tensor uses, by size. Every block in use owns a share, because tensors of
// libtorch's own may end after main().
class UnusedBlocks {
 public:
  ~UnusedBlocks() { release(); }

  void* take(std::size_t bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Unused*& first = first_of_[bytes];
      if (first != nullptr) return std::exchange(first, first->next);
    }
    void* block = map(bytes);
    if (block == nullptr) {
      release();
      block = map(bytes);
    }
    return block;
  }

  // Returns a block. Does not throw, because tensors are freed in destructors.
  void give_back(void* block, std::size_t bytes) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    Unused*& first = first_of_.find(bytes)->second;
    first = new (block) Unused{first};
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [bytes, first] : first_of_) {
      while (first != nullptr) ::munmap(std::exchange(first, first->next), bytes);
    }
  }

 private:
  struct Unused {
    Unused* next;
  };

  // nullptr without memory.
  static void* map(std::size_t bytes) {
    void* block =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  }

  std::mutex mutex_;
  std::map<std::size_t, Unused*> first_of_;  // by size, of a list; null where none is unused
};

// Precedes the bytes of a tensor, because libtorch's `raw_deallocate` gets only their address.
struct alignas(kAlignment) Header {
  std::shared_ptr<UnusedBlocks> owner;  // none for a small block, which is malloc's
  std::size_t bytes;                    // with the header
};
static_assert(sizeof(Header) == kAlignment);

void end_block(void* data) {
  if (data == nullptr) return;
  auto* header = static_cast<Header*>(data) - 1;
  const std::shared_ptr<UnusedBlocks> owner = std::move(header->owner);
  const std::size_t bytes = header->bytes;
  header->~Header();
  if (owner == nullptr) {
    std::free(header);
  } else {
    owner->give_back(header, bytes);
  }
}

// Later libtorch took `const` from `allocate` and added `copy_data`, so these don't say `override`.
class BlockAllocator final : public c10::Allocator {
 public:
  // NOLINTBEGIN(modernize-use-override)
  c10::DataPtr allocate(std::size_t bytes) { return tensor(bytes); }
  c10::DataPtr allocate(std::size_t bytes) const { return tensor(bytes); }
  c10::DeleterFnPtr raw_deleter() const override { return &end_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  // NOLINTEND(modernize-use-override)

  void release() const { unused_->release(); }

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
      memory = unused_->take(whole);
    } else if (::posix_memalign(&memory, kAlignment, whole) != 0) {
      memory = nullptr;
    }
    if (memory == nullptr) {
      throw UnavailableError("a tensor needs " + format_bytes(bytes) + ", " +
                             kTensorMemoryIsWanting +
                             "; use smaller batches, or fewer ranks on a host");
    }
    return new (memory) Header{is_kept ? unused_ : nullptr, whole} + 1;
  }

  std::shared_ptr<UnusedBlocks> unused_ = std::make_shared<UnusedBlocks>();
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
