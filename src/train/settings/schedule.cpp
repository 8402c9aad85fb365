#include "tandem/train/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::train {
namespace {
constexpr double kPi = 3.141592653589793;
constexpr double kTriangleRise = 0.25;  // of the run, where no warm-up is asked for
}  // namespace

Schedule::Schedule(const ScheduleOptions& options, double peak, std::uint64_t steps_per_epoch,
                   std::uint64_t total_steps)
    : options_(options),
      peak_(peak),
      warmup_steps_(std::round(options.warmup_epochs * static_cast<double>(steps_per_epoch))),
      drop_steps_(
          std::max(1.0, std::round(options.step_epochs * static_cast<double>(steps_per_epoch)))),
      total_steps_(static_cast<double>(total_steps)),
      last_step_(total_steps_) {
  if (options.name == "triangle" && warmup_steps_ == 0) {
    warmup_steps_ = std::round(kTriangleRise * total_steps_);
  }
  last_step_ = warmup_steps_ < total_steps_ ? total_steps_ : std::max(0.0, total_steps_ - 1);
}

bool Schedule::depends_on_length(const ScheduleOptions& options) {
  return options.name != "constant" && options.name != "step";
}

double Schedule::at(std::uint64_t step) const {
  const auto asked = static_cast<double>(step);
  const double now = depends_on_length(options_) ? std::min(asked, last_step_) : asked;
  if (now < warmup_steps_) return peak_ * (now + 1) / warmup_steps_;
  const double since = now - warmup_steps_;
  const double left = std::max(1.0, total_steps_ - warmup_steps_);
  if (options_.name == "cosine") return peak_ * (1 + std::cos(kPi * since / left)) / 2;
  if (options_.name == "triangle" || options_.name == "linear")
    return peak_ * (left - since) / left;
  if (options_.name == "polynomial") {
    return peak_ * std::pow((left - since) / left, options_.polynomial_power);
  }
  if (options_.name == "step") {
    return peak_ * std::pow(options_.step_gamma, std::floor(now / drop_steps_));
  }
  return peak_;
}

}  // namespace tandem::train
