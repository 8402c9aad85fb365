// Runs exchanges that consist of several non-blocking collectives in sequence, many exchanges at a
// time, such as those of a step's buckets. What the stages use must outlive the pipeline. One
// thread at a time. Throws what the stages throw.
//
// MPI matches the calls on a communicator in the order in which they start, but the end of a stage
// is a matter of timing. So each stage has a communicator of its own, and stage s of an exchange
// starts after stage s of the exchange before it. The order of calls on each communicator is then
// the same on every rank.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/comm/collectives.hpp"

namespace tandem::comm {

class Pipeline {
 public:
  // Starts one collective; returns null if it completed at once.
  using Stage = std::function<std::unique_ptr<Request>()>;

  Pipeline() = default;
  Pipeline(const Pipeline&) = delete;  // requests refer to it
  Pipeline& operator=(const Pipeline&) = delete;

  // Starts the first stage now. Each later stage starts after the previous one completed, within
  // test() or wait() of any exchange. Every call has the same number of stages, at least one.
  std::unique_ptr<Request> start(std::vector<Stage> stages);
  // Waits for all exchanges.
  void drain();

 private:
  struct Exchange {
    std::vector<Stage> stages;
    std::size_t started = 0;
    std::unique_ptr<Request> running;
    bool is_done() const { return started == stages.size() && running == nullptr; }
    // Advances as far as possible, but starts no stage from `limit` on.
    void advance(std::size_t limit);
  };
  class InFlight;
  void advance();

  std::deque<std::shared_ptr<Exchange>> exchanges_;  // oldest first
};

}  // namespace tandem::comm
