#include "tandem/train/boundary_policy.hpp"

#include <algorithm>
#include <utility>

namespace tandem::train {
namespace {

// The most steps between two agreements: the host of a GPU may run ahead of it, and would count its
// steps as shorter than they are.
constexpr std::uint64_t kMaxStride = 32;
// A request and the steps to the next agreement travel as one number, the request first.
constexpr std::int64_t kStrides = 64;

}  // namespace

BoundaryPolicy::BoundaryPolicy(comm::Communicator& comm, BoundaryRules rules)
    : comm_(comm),
      rules_(std::move(rules)),
      last_save_(rules_.now()),
      last_agreement_(last_save_) {}

Boundary BoundaryPolicy::decide(std::uint64_t step, bool evaluated) {
  if (!agrees_at(step, evaluated)) return Boundary::kGoOn;
  const std::int64_t strides = rules_.agreement_seconds > 0 ? kStrides : 1;
  const auto mine = static_cast<std::int64_t>(decide_alone(step, evaluated)) * strides +
                    static_cast<std::int64_t>(steps_to_next(step)) % strides;
  const auto all = comm_.all_reduce_value<std::int64_t>(mine, comm::Reduction::kMax);
  const auto request = static_cast<Request>(all / strides);
  last_agreement_ = rules_.now();
  agreed_step_ = step;
  if (!first_agreement_) first_agreement_ = {step, last_agreement_};
  next_agreement_ = step + static_cast<std::uint64_t>(all % strides);
  is_timed_ = request == Request::kSaveByTime;
  if (request == Request::kGoOn) return Boundary::kGoOn;
  last_save_ = rules_.now();
  saved_step_ = step;
  save_asked_ = false;
  return request == Request::kSaveAndStop ? Boundary::kSaveAndStop : Boundary::kSave;
}

// The same on every rank.
bool BoundaryPolicy::agrees_at(std::uint64_t step, bool evaluated) const {
  return rules_.agreement_seconds == 0 || evaluated || step >= next_agreement_ ||
         step == rules_.total_steps || step % rules_.steps_per_epoch == 0 || is_due_by_steps(step);
}

bool BoundaryPolicy::is_due_by_steps(std::uint64_t step) const {
  return std::any_of(rules_.every.all.begin(), rules_.every.all.end(), [&](const auto& each) {
    if (each.count == 0 || each.unit == CheckpointInterval::Unit::kSeconds) return false;
    const bool counts_epochs = each.unit == CheckpointInterval::Unit::kEpochs;
    return step % (each.count * (counts_epochs ? rules_.steps_per_epoch : 1)) == 0;
  });
}

// As many steps as take agreement_seconds, by the time of those since the last agreement and, as a
// host that runs ahead of its GPU sees some of them too short, of all since the first one.
std::uint64_t BoundaryPolicy::steps_to_next(std::uint64_t step) const {
  if (rules_.agreement_seconds == 0 || !first_agreement_ || step <= agreed_step_) return 1;
  return std::min(steps_in_time(step - agreed_step_, last_agreement_),
                  steps_in_time(step - first_agreement_->first, first_agreement_->second));
}

// How many steps take agreement_seconds where `steps` have been made since `begin`.
std::uint64_t BoundaryPolicy::steps_in_time(std::uint64_t steps,
                                            std::chrono::steady_clock::time_point begin) const {
  const double seconds = seconds_since(begin);
  const double scaled = static_cast<double>(steps) * rules_.agreement_seconds;
  if (scaled >= seconds * static_cast<double>(kMaxStride)) return kMaxStride;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled / seconds));
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
  if (is_due_by_steps(step)) return Request::kSave;
  const bool is_time = std::any_of(
      rules_.every.all.begin(), rules_.every.all.end(), [&](const CheckpointInterval& each) {
        return each.count > 0 && each.unit == CheckpointInterval::Unit::kSeconds &&
               seconds_since(last_save_) >= static_cast<double>(each.count);
      });
  return is_time ? Request::kSaveByTime : Request::kGoOn;
}

}  // namespace tandem::train
