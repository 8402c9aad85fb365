#include "tandem/comm/shared_floats.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

// Where a rank says that its file is; process 0: nowhere.
struct Whereabouts {
  std::int64_t process = 0, number = 0, device = 0, inode = 0;
};

Whereabouts whereabouts_of(const Descriptor& file) {
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) return {};
  return {::getpid(), file.number, static_cast<std::int64_t>(status.st_dev),
          static_cast<std::int64_t>(status.st_ino)};
}

// Of another process of the same user. In another container its number is nobody's here, or that of
// another process, of this one for instance: hence the proof that it is the same file.
int open_at(const Whereabouts& there) {
  if (there.process == 0) return -1;
  const std::string path =
      "/proc/" + std::to_string(there.process) + "/fd/" + std::to_string(there.number);
  const int number = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat status {};
  const bool is_theirs = number >= 0 && ::fstat(number, &status) == 0 &&
                         static_cast<std::int64_t>(status.st_dev) == there.device &&
                         static_cast<std::int64_t>(status.st_ino) == there.inode;
  if (is_theirs || number < 0) return number;
  ::close(number);
  return -1;
}

// Of all ranks.
std::vector<Whereabouts> gather(Communicator& host, const Whereabouts& own) {
  constexpr std::size_t kNumbers = sizeof(Whereabouts) / sizeof(std::int64_t);
  const auto ranks = static_cast<std::size_t>(host.size());
  std::vector<std::int64_t> numbers(kNumbers * ranks, 0);
  std::int64_t* const mine = &numbers[kNumbers * static_cast<std::size_t>(host.rank())];
  mine[0] = own.process, mine[1] = own.number, mine[2] = own.device, mine[3] = own.inode;
  host.start_all_gather(Span<std::int64_t>(numbers))->wait();
  std::vector<Whereabouts> all;
  for (std::size_t at = 0; at < numbers.size(); at += kNumbers) {
    all.push_back({numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]});
  }
  return all;
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
  const std::vector<Whereabouts> of_files = gather(host, whereabouts_of(own));
  for (std::size_t rank = 0; rank < of_rank_.size(); ++rank) {
    of_rank_[rank] =
        rank == rank_ ? map_all(own, bytes) : map_all(Descriptor(open_at(of_files[rank])), bytes);
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
