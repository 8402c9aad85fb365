#include "tandem/train/ready_times.hpp"

#include <utility>

namespace tandem::train {
namespace {

struct NothingInFlight final : comm::Pending {
  void wait() override {}
  bool test() override { return true; }
};

}  // namespace

std::unique_ptr<comm::Pending> ReadyTimes::do_start_all_reduce(void*, std::size_t count,
                                                               comm::DataType type) {
  started_.push_back({count * comm::bytes_of_type(type), Clock::now()});
  return std::make_unique<NothingInFlight>();
}

void ReadyTimes::do_all_reduce(void*, std::size_t count, comm::DataType type, comm::Reduction) {
  const auto end = Clock::now();
  started_.push_back({count * comm::bytes_of_type(type), end});
  buckets_.resize(started_.size());
  for (std::size_t i = 0; i < started_.size(); ++i) {
    buckets_[i].bytes = static_cast<double>(started_[i].bytes);
    buckets_[i].seconds_before_end += std::chrono::duration<double>(end - started_[i].at).count();
  }
  started_.clear();
  ++steps_;
}

std::vector<BucketCost> ReadyTimes::take() {
  for (BucketCost& bucket : buckets_) bucket.seconds_before_end /= steps_;
  steps_ = 0;
  return std::exchange(buckets_, {});
}

}  // namespace tandem::train
