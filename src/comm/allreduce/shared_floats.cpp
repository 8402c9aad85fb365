#include "shared_floats.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "chunk_partition.hpp"
#include "memory_file.hpp"
#include "tandem/comm/agree.hpp"

namespace tandem::comm {
namespace {

constexpr std::size_t kFloatsAtOnce = 8192;  // 32 KiB, the first-level cache

}  // namespace

std::shared_ptr<SharedFloats> SharedFloats::make(Communicator& host, std::size_t count) {
  std::shared_ptr<SharedFloats> floats(new SharedFloats(count));
  const bool is_mapped = floats->map(host);
  return is_true_everywhere(host, is_mapped) ? floats : nullptr;
}

bool SharedFloats::map(Communicator& host) {
  rank_ = static_cast<std::size_t>(host.rank());
  rank_segments_.resize(static_cast<std::size_t>(host.size()), nullptr);
  const std::size_t bytes = count_ * sizeof(float);
  MemoryFile own = MemoryFile::make_unnamed();
  if (own && !own.resize(bytes)) own = MemoryFile();
  const auto file_ids = host.all_gather(own.id());
  for (std::size_t rank = 0; rank < rank_segments_.size(); ++rank) {
    void* const at = rank == rank_ ? own.map(bytes) : MemoryFile::open(file_ids[rank]).map(bytes);
    rank_segments_[rank] = static_cast<float*>(at);
  }
  host.barrier();  // all ranks have opened the files, so their names can go
  if (own) own.withdraw();
  return std::find(rank_segments_.begin(), rank_segments_.end(), nullptr) == rank_segments_.end();
}

SharedFloats::~SharedFloats() {
  for (float* const values : rank_segments_) {
    if (values != nullptr) ::munmap(values, count_ * sizeof(float));
  }
}

Span<float> SharedFloats::mine() const { return {rank_segments_[rank_], count_}; }

// From the next rank's array around to this rank's.
void SharedFloats::add_all(std::size_t at, std::size_t count, float* sums) const {
  std::copy_n(rank_segments_[(rank_ + 1) % rank_segments_.size()] + at, count, sums);
  for (std::size_t distance = 2; distance <= rank_segments_.size(); ++distance) {
    const float* const theirs = rank_segments_[(rank_ + distance) % rank_segments_.size()] + at;
    for (std::size_t i = 0; i < count; ++i) sums[i] += theirs[i];
  }
}

void SharedFloats::sum(Communicator& host, Span<float> values) {
  const std::size_t first = index_of(values);
  const ChunkPartition chunks(values.size(), host.size());
  const std::size_t begin = first + chunks.first(host.rank());
  const std::size_t end = begin + chunks.size(host.rank());
  std::atomic_thread_fence(std::memory_order_release);
  host.barrier();
  std::atomic_thread_fence(std::memory_order_acquire);
  float sums[kFloatsAtOnce];
  for (std::size_t at = begin; at < end; at += kFloatsAtOnce) {
    const std::size_t some = std::min(kFloatsAtOnce, end - at);
    add_all(at, some, sums);
    for (float* const all : rank_segments_) std::copy_n(sums, some, all + at);
  }
  std::atomic_thread_fence(std::memory_order_release);
  host.barrier();
  std::atomic_thread_fence(std::memory_order_acquire);
}

void SharedFloats::reduce(Span<float> chunk) {
  std::atomic_thread_fence(std::memory_order_acquire);
  float sums[kFloatsAtOnce];
  for (std::size_t done = 0; done < chunk.size(); done += kFloatsAtOnce) {
    const std::size_t some = std::min(kFloatsAtOnce, chunk.size() - done);
    add_all(index_of(chunk) + done, some, sums);
    std::copy_n(sums, some, chunk.data() + done);
  }
}

void SharedFloats::share(Span<float> chunk) {
  if (chunk.empty()) return;
  for (float* const array : rank_segments_) {
    float* const there = array + index_of(chunk);
    if (there != chunk.data()) std::copy_n(chunk.data(), chunk.size(), there);
  }
  std::atomic_thread_fence(std::memory_order_release);
}

}  // namespace tandem::comm
