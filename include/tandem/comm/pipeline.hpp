// What: exchanges that consist of several calls one after the other, of which many are under way at
// a time, such as those of the buckets of a step.
// Owns: the calls that are under way; what they use must outlive it. Threads: one at a time.
// Throws: what the stages throw.
//
// MPI matches calls of a communicator in the order in which they start, and when a stage ends is a
// matter of timing. So the s-th stage of an exchange starts after the s-th stage of the exchange
// before it, whatever has ended by then, and each stage has a communicator of its own. The order of
// calls on each is then that of the exchanges, on every rank.
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
  // Starts it; nothing in return: it is done at once.
  using Stage = std::function<std::unique_ptr<Request>()>;

  Pipeline() = default;
  Pipeline(const Pipeline&) = delete;  // what is under way knows it
  Pipeline& operator=(const Pipeline&) = delete;

  // The first stage starts now, each other one from within a call of test() or wait() of any
  // exchange, after the one before it has ended. At least one stage, and as many each time.
  std::unique_ptr<Request> start(std::vector<Stage> stages);
  // Waits for all that were started.
  void drain();

 private:
  struct Exchange {
    std::vector<Stage> stages;
    std::size_t started = 0;
    std::unique_ptr<Request> running;
    bool is_done() const { return started == stages.size() && running == nullptr; }
    // Goes on as far as it can, but starts no stage from `limit` on.
    void advance(std::size_t limit);
  };
  class InFlight;
  void advance();

  std::deque<std::shared_ptr<Exchange>> exchanges_;  // oldest first
};

}  // namespace tandem::comm
