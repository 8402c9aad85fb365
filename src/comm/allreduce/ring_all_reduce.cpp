#include "chunked_all_reduce.hpp"
#include "mpi_values.hpp"

namespace tandem::comm {
namespace {

class RingAllReduce final : public ChunkedAllReduce {
 public:
  using ChunkedAllReduce::ChunkedAllReduce;
  ~RingAllReduce() override { finish(); }

  void start() {
    allocate(1);
    start_step();
  }

  bool test() override {
    while (step_ < 2 * (ranks_ - 1)) {
      if (!are_messages_done()) return false;
      if (is_reducing()) add(rank_at(-2 - step_), arrived_in(0), values_of(rank_at(-2 - step_)));
      ++step_;
      start_step();
    }
    return true;
  }

 private:
  bool is_reducing() const { return step_ < ranks_ - 1; }

  // Chunk r starts at rank r + 1 and, after ranks - 1 steps, is complete at rank r.
  void start_step() {
    if (step_ >= 2 * (ranks_ - 1)) return;
    const int there = is_reducing() ? rank_at(-1 - step_) : rank_at(ranks_ - 1 - step_);
    const int here = (there + ranks_ - 1) % ranks_;
    receive(rank_at(-1), here, is_reducing() ? arrived_in(0) : values_of(here), tag_);
    send(rank_at(1), there, tag_);
  }

  int step_ = 0;
};

}  // namespace

std::unique_ptr<Request> start_ring_all_reduce(MPI_Comm mpi, Buffer values, int tag) {
  auto started = std::make_unique<RingAllReduce>(mpi, values, tag, mpi_type(values.type));
  started->start();
  return started;
}

}  // namespace tandem::comm
