// Adds the gradients of all ranks while backward still runs. Its hooks on the parameters are
// removed by its destructor; arena and communicator must outlive it. Runs on the thread of backward
// (on CPUs the caller's); with several buckets on CPUs, a thread of its own makes MPI progress.
// Throws InternalError naming a parameter without a gradient.
//
// A bucket is a range of the arena. It is ready when each of its parameters has its gradient.
// Buckets start strictly in index order, so the order of collectives depends on the configuration
// only.
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

  // The last micro-batch completes the gradients of a step. A rank without images in it contributes
  // the arena's current gradients.
  void begin_micro_batch(std::uint64_t index, std::uint64_t count, bool has_images) override;
  void end_micro_batch() override {}
  // Starts the remaining buckets and waits for all.
  void finish() override;

  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::string describe() const override;

 private:
  struct Hooks;
  void mark_ready(std::size_t slot);
  void start_bucket(std::size_t bucket);
  // While held, only the calling thread uses comm_ and in_flight_.
  std::unique_lock<std::mutex> hold();

  ParameterArena& arena_;
  comm::Collectives& comm_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_slot_;
  // Floats per call. A parameter may be much larger than a bucket, and several short all-reduces in
  // flight use a link better than one long one.
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
