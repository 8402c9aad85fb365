// A Collectives that exchanges nothing. It records when a Reducer's buckets are ready, and steps
// with it take the time of a step without exchange. Used on the thread of backward.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/train/cost_model.hpp"

namespace tandem::train {

class BucketTimeline final : public comm::Collectives {
 public:
  BucketTimeline(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "nothing"; }
  bool has_async_progress() const override { return true; }

  // The buckets in order, with means over all steps since the last call.
  std::vector<BucketCost> take();

 private:
  using Clock = std::chrono::steady_clock;
  struct Started {
    std::size_t bytes;
    Clock::time_point at;
  };
  struct CompletedRequest;
  // Called with the last all-reduce of a step, after backward.
  void end_step();
  void do_all_reduce(comm::Buffer values) override;
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override;

  const int rank_;
  const int size_;
  std::vector<Started> started_;     // in the step under way
  std::vector<BucketCost> buckets_;  // with sums over the steps
  int steps_ = 0;
};

}  // namespace tandem::train
