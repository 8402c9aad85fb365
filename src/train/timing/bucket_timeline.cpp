#include "bucket_timeline.hpp"

#include <utility>

namespace tandem::train {

// The first one that is waited for ends the step.
struct BucketTimeline::CompletedRequest final : comm::Request {
  explicit CompletedRequest(BucketTimeline& started_by) : times(started_by) {}
  void wait() override { times.end_step(); }
  bool test() override { return true; }
  BucketTimeline& times;
};

std::unique_ptr<comm::Request> BucketTimeline::do_iall_reduce(comm::Buffer values) {
  started_.push_back({values.bytes(), Clock::now()});
  return std::make_unique<CompletedRequest>(*this);
}

void BucketTimeline::do_all_reduce(comm::Buffer values) {
  started_.push_back({values.bytes(), Clock::now()});
  end_step();
}

void BucketTimeline::end_step() {
  if (started_.empty()) return;
  const auto end = started_.back().at;
  buckets_.resize(started_.size());
  for (std::size_t i = 0; i < started_.size(); ++i) {
    buckets_[i].bytes = static_cast<double>(started_[i].bytes);
    buckets_[i].seconds_before_end += std::chrono::duration<double>(end - started_[i].at).count();
  }
  started_.clear();
  ++steps_;
}

std::vector<BucketCost> BucketTimeline::take() {
  for (BucketCost& bucket : buckets_) bucket.seconds_before_end /= steps_;
  steps_ = 0;
  return std::exchange(buckets_, {});
}

}  // namespace tandem::train
