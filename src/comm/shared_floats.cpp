#include "tandem/comm/shared_floats.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "sum_parts.hpp"

namespace tandem::comm {
namespace {

constexpr std::size_t kFloatsAtOnce = 8192;  // 32 KB, the first-level cache

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

// Of a file that has no name; nullptr where there is no memory for it.
float* map_all(const Descriptor& file, std::size_t bytes) {
  if (file.number < 0) return nullptr;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
  return at == MAP_FAILED ? nullptr : static_cast<float*>(at);
}

int create(std::size_t bytes) {
  const int number = ::memfd_create("tandem gradients", MFD_CLOEXEC);
  if (number >= 0 && ::ftruncate(number, static_cast<off_t>(bytes)) != 0) {
    ::close(number);
    return -1;
  }
  return number;
}

// Another process's, of the same user; not from one container into another.
int open_of(std::int64_t process, std::int64_t number) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

std::shared_ptr<SharedFloats> SharedFloats::make(Communicator& host, std::size_t count) {
  std::shared_ptr<SharedFloats> floats(new SharedFloats(count));
  const bool is_mapped = floats->map(host);
  const bool on_all = host.all_reduce_value<std::int64_t>(is_mapped ? 1 : 0, Reduction::kMin) == 1;
  return on_all ? floats : nullptr;
}

bool SharedFloats::map(Communicator& host) {
  rank_ = static_cast<std::size_t>(host.rank());
  of_rank_.resize(static_cast<std::size_t>(host.size()), nullptr);
  const std::size_t bytes = count_ * sizeof(float);
  const Descriptor own(create(bytes));
  std::vector<std::int64_t> where(2 * of_rank_.size(), 0);  // process and number; 0: none
  where[2 * rank_] = own.number >= 0 ? ::getpid() : 0;
  where[2 * rank_ + 1] = own.number;
  host.start_all_gather(Span<std::int64_t>(where))->wait();
  for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) {
    const std::int64_t process = where[2 * rank];
    if (rank == rank_) {
      of_rank_[rank] = map_all(own, bytes);
    } else if (process != 0) {
      of_rank_[rank] = map_all(Descriptor(open_of(process, where[2 * rank + 1])), bytes);
    }
  }
  host.barrier();  // until all have opened what is closed now
  return std::find(of_rank_.begin(), of_rank_.end(), nullptr) == of_rank_.end();
}

SharedFloats::~SharedFloats() {
  for (float* const values : of_rank_) {
    if (values != nullptr) ::munmap(values, count_ * sizeof(float));
  }
}

Span<float> SharedFloats::mine() const { return {of_rank_[rank_], count_}; }

bool SharedFloats::has(Span<const float> values) const {
  const std::less<const float*> comes_before;  // an order of all pointers, unlike <
  const Span<float> own = mine();
  return !comes_before(values.data(), own.data()) &&
         comes_before(values.data(), own.data() + own.size());
}

void SharedFloats::sum(Communicator& host, Span<float> values) {
  const auto first = static_cast<std::size_t>(values.data() - mine().data());
  const SumParts parts(values.size(), host.size());
  const std::size_t begin = first + parts.first(host.rank());
  const std::size_t end = begin + parts.size(host.rank());
  host.barrier();
  std::atomic_thread_fence(std::memory_order_acquire);
  float sums[kFloatsAtOnce];
  for (std::size_t at = begin; at < end; at += kFloatsAtOnce) {
    const std::size_t some = std::min(kFloatsAtOnce, end - at);
    std::copy_n(of_rank_[(rank_ + 1) % of_rank_.size()] + at, some, sums);
    for (std::size_t distance = 2; distance <= of_rank_.size(); ++distance) {
      const float* const theirs = of_rank_[(rank_ + distance) % of_rank_.size()] + at;
      for (std::size_t i = 0; i < some; ++i) sums[i] += theirs[i];
    }
    for (float* const all : of_rank_) std::copy_n(sums, some, all + at);
  }
  std::atomic_thread_fence(std::memory_order_release);
  host.barrier();
}

}  // namespace tandem::comm
