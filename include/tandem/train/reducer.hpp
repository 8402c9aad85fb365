// What: sums the gradients of all ranks while backward still runs.
// Owns: hooks on the parameters, removed by its destructor; the arena and the communicator must
// outlive it. Threads: that of backward (on CPU the caller's); with several buckets on CPUs, a
// thread of its own lets MPI advance. Throws: InternalError naming a parameter that got no
// gradient.
//
// A bucket is a slice of the arena. It is ready when each of its parameters has its gradient, and
// buckets start strictly in index order, so that the order of collectives is a function of the
// configuration alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/comm/progress_thread.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

struct Bucket {
  std::size_t slot_count;
  std::size_t offset;  // floats
  std::size_t count;   // floats, padding included
};

// Consecutive slots until a bucket holds at least `bucket_bytes`; 0 bytes: one bucket for all.
std::vector<Bucket> make_buckets(const std::vector<ParameterArena::Slot>& slots,
                                 std::size_t arena_floats, std::size_t bucket_bytes);

class Reducer final : public GradientExchange {
 public:
  Reducer(ParameterArena& arena, comm::Collectives& comm, std::size_t bucket_bytes);
  ~Reducer() override;
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // The last part completes the gradients of this step. A rank that has no image in it takes part
  // with what the arena holds.
  void begin_micro_batch(std::uint64_t index, std::uint64_t count, bool has_images) override;
  void end_micro_batch() override {}
  // Starts what has not started, waits for all.
  void finish() override;

  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::string describe() const override;

 private:
  struct Hooks;
  void mark_ready(std::size_t slot);
  void start_ready_buckets();
  void start_bucket(std::size_t bucket);
  // While held, only the calling thread uses comm_ and in_flight_.
  std::unique_lock<std::mutex> hold();

  ParameterArena& arena_;
  comm::Collectives& comm_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_slot_;
  // Floats of a call: a parameter may be much larger than a bucket, and several short sums under
  // way keep a link busy where one long one leaves gaps.
  const std::size_t piece_;

  bool armed_ = false;
  bool expect_gradients_ = false;
  std::vector<int> gradients_seen_;         // per slot
  std::vector<std::size_t> slots_missing_;  // per bucket
  std::size_t next_bucket_ = 0;
  std::vector<std::unique_ptr<comm::Request>> in_flight_;
  std::optional<comm::ProgressThread> progress_;

  std::unique_ptr<Hooks> hooks_;
};

}  // namespace tandem::train
