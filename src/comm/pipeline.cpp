#include "pipeline.hpp"

#include <atomic>
#include <exception>
#include <utility>

namespace tandem::comm {

class Pipeline::InFlight final : public Request {
 public:
  InFlight(Pipeline& pipeline, std::shared_ptr<Exchange> exchange)
      : pipeline_(pipeline), exchange_(std::move(exchange)) {}
  ~InFlight() override {
    // On the way out of an error the other ranks may never come.
    if (std::uncaught_exceptions() > 0) return;
    try {
      wait();
    } catch (const std::exception&) {
      // A destructor must not throw; MPI reports the error at its next call.
    }
  }
  bool test() override {
    if (!exchange_->is_done()) pipeline_.advance();
    return exchange_->is_done();
  }

 private:
  Pipeline& pipeline_;
  const std::shared_ptr<Exchange> exchange_;
};

void Pipeline::Exchange::advance(std::size_t limit) {
  while (!is_done()) {
    if (running && !running->test()) return;
    running.reset();
    // Stages may share memory with other ranks, and MPI's barriers need not order its accesses.
    std::atomic_thread_fence(std::memory_order_acq_rel);
    if (started == stages.size() || started >= limit) return;
    running = stages[started]();
    ++started;
  }
}

void Pipeline::advance() {
  std::size_t limit = exchanges_.empty() ? 0 : exchanges_.front()->stages.size();
  for (const auto& exchange : exchanges_) {
    exchange->advance(limit);
    limit = exchange->started;
  }
  while (!exchanges_.empty() && exchanges_.front()->is_done()) exchanges_.pop_front();
}

std::unique_ptr<Request> Pipeline::start(std::vector<Stage> stages) {
  exchanges_.push_back(std::make_shared<Exchange>());
  exchanges_.back()->stages = std::move(stages);
  auto in_flight = std::make_unique<InFlight>(*this, exchanges_.back());
  advance();
  return in_flight;
}

void Pipeline::drain() {
  while (!exchanges_.empty()) advance();
}

}  // namespace tandem::comm
