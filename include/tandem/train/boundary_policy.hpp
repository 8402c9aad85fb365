// Decides between two steps whether to save and whether to stop, with the same result on every
// rank. Make the same calls on every rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "tandem/comm/communicator.hpp"
#include "tandem/train/checkpoint_rules.hpp"
#include "tandem/train/checkpoints.hpp"

namespace tandem::train {

struct BoundaryRules {
  CheckpointIntervals every;
  double stop_after_seconds = 0;  // since `start`, by rank 0's clock; 0: never
  std::chrono::steady_clock::time_point start;
  std::uint64_t first_step = 0;  // nothing to save there
  std::uint64_t total_steps = 0;
  std::uint64_t steps_per_epoch = 1;
  std::function<bool()> is_stop_asked;  // on any rank
  // About how often the ranks agree, in addition to steps that save or end an epoch; 0: at each
  // step. A stop request waits for the next agreement.
  double agreement_seconds = 0;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class BoundaryPolicy {
 public:
  BoundaryPolicy(comm::Communicator& comm, BoundaryRules rules);

  // Collective: one small all-reduce, because signals and clocks are known to one rank alone; none
  // between two agreements.
  // `evaluated`: an evaluation was made since the last decision, which may be of the same step.
  Boundary decide(std::uint64_t step, bool evaluated = false);
  // Whether the last decision is to save because of the time alone. Another run may save at another
  // step then.
  bool is_timed() const { return is_timed_; }
  // On rank 0: the next decision is to save.
  void ask_to_save() { save_asked_ = true; }
  // Whether this rank has a stop request, or its time ends within `seconds`, which the next
  // uninterruptible work will take. If so, the next decision is to stop.
  bool must_stop_within(double seconds);

 private:
  // A rank's request; the highest one of all ranks counts.
  enum class Request { kGoOn, kSaveByTime, kSave, kSaveAndStop };
  bool agrees_at(std::uint64_t step, bool evaluated) const;
  bool is_due_by_steps(std::uint64_t step) const;
  std::uint64_t steps_to_next(std::uint64_t step) const;
  std::uint64_t steps_in_time(std::uint64_t steps,
                              std::chrono::steady_clock::time_point begin) const;
  Request decide_alone(std::uint64_t step, bool evaluated);
  Request request_save(std::uint64_t step, bool evaluated) const;
  double seconds_since(std::chrono::steady_clock::time_point begin) const;

  comm::Communicator& comm_;
  const BoundaryRules rules_;
  std::chrono::steady_clock::time_point last_save_;
  std::chrono::steady_clock::time_point last_agreement_;
  std::uint64_t agreed_step_ = 0;  // of the last agreement
  std::optional<std::pair<std::uint64_t, std::chrono::steady_clock::time_point>> first_agreement_;
  std::uint64_t next_agreement_ = 0;         // a step
  std::optional<std::uint64_t> saved_step_;  // of the last decision to save
  bool save_asked_ = false;
  bool is_timed_ = false;
  bool must_stop_ = false;
};

}  // namespace tandem::train
