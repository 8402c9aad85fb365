#include "tandem/train/boundary_policy.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {

BoundaryPolicy::BoundaryPolicy(comm::Communicator& comm, BoundaryRules rules)
    : comm_(comm), rules_(std::move(rules)), last_save_(rules_.now()) {}

Boundary BoundaryPolicy::decide(std::uint64_t step, bool evaluated) {
  const auto mine = static_cast<std::int64_t>(decide_alone(step, evaluated));
  const auto decision =
      static_cast<Boundary>(comm_.all_reduce_value<std::int64_t>(mine, comm::Reduction::kMax));
  if (decision != Boundary::kGoOn) {
    last_save_ = rules_.now();
    saved_step_ = step;
    save_asked_ = false;
  }
  return decision;
}

double BoundaryPolicy::seconds_since(std::chrono::steady_clock::time_point begin) const {
  return std::chrono::duration<double>(rules_.now() - begin).count();
}

bool BoundaryPolicy::must_stop_within(double seconds) {
  const bool time_is_up = comm_.rank() == 0 && rules_.stop_after_seconds > 0 &&
                          seconds_since(rules_.start) + seconds >= rules_.stop_after_seconds;
  must_stop_ = must_stop_ || time_is_up || rules_.is_stop_asked();
  return must_stop_;
}

Boundary BoundaryPolicy::decide_alone(std::uint64_t step, bool evaluated) {
  static_assert(Boundary::kGoOn < Boundary::kSave && Boundary::kSave < Boundary::kSaveAndStop,
                "the highest request of any rank counts");
  if (must_stop_within(0)) return Boundary::kSaveAndStop;
  return comm_.rank() == 0 && is_save_due(step, evaluated) ? Boundary::kSave : Boundary::kGoOn;
}

bool BoundaryPolicy::is_save_due(std::uint64_t step, bool evaluated) const {
  if (save_asked_) return true;
  // The checkpoint of this step exists; it lacks only the evaluation's results.
  if (step == rules_.first_step || step == saved_step_) return evaluated;
  if (step == rules_.total_steps) return true;
  const std::uint64_t count = rules_.every.count;
  if (count == 0) return false;
  switch (rules_.every.unit) {
    case CheckpointInterval::Unit::kSteps:
      return step % count == 0;
    case CheckpointInterval::Unit::kEpochs:
      return step % (count * rules_.steps_per_epoch) == 0;
    case CheckpointInterval::Unit::kSeconds:
      return seconds_since(last_save_) >= static_cast<double>(count);
  }
  return false;
}

}  // namespace tandem::train
