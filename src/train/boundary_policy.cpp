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
  const auto request =
      static_cast<Request>(comm_.all_reduce_value<std::int64_t>(mine, comm::Reduction::kMax));
  is_timed_ = request == Request::kSaveByTime;
  if (request == Request::kGoOn) return Boundary::kGoOn;
  last_save_ = rules_.now();
  saved_step_ = step;
  save_asked_ = false;
  return request == Request::kSaveAndStop ? Boundary::kSaveAndStop : Boundary::kSave;
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

BoundaryPolicy::Request BoundaryPolicy::decide_alone(std::uint64_t step, bool evaluated) {
  if (must_stop_within(0)) return Request::kSaveAndStop;
  return comm_.rank() == 0 ? request_save(step, evaluated) : Request::kGoOn;
}

BoundaryPolicy::Request BoundaryPolicy::request_save(std::uint64_t step, bool evaluated) const {
  if (save_asked_) return Request::kSave;
  // The checkpoint of this step exists; it lacks only the evaluation's results.
  if (step == rules_.first_step || step == saved_step_) {
    return evaluated ? Request::kSave : Request::kGoOn;
  }
  if (step == rules_.total_steps) return Request::kSave;
  Request request = Request::kGoOn;
  for (const CheckpointInterval& each : rules_.every.all) {
    if (each.count == 0) continue;
    if (each.unit == CheckpointInterval::Unit::kSeconds) {
      const bool is_due = seconds_since(last_save_) >= static_cast<double>(each.count);
      if (is_due) request = std::max(request, Request::kSaveByTime);
      continue;
    }
    const bool counts_epochs = each.unit == CheckpointInterval::Unit::kEpochs;
    const std::uint64_t steps = each.count * (counts_epochs ? rules_.steps_per_epoch : 1);
    if (step % steps == 0) return Request::kSave;
  }
  return request;
}

}  // namespace tandem::train
