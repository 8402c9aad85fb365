// The learning-rate schedule, as a pure function of the step.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

struct ScheduleOptions {
  std::string name = "constant";  // or step, cosine, linear, polynomial, triangle
  double warmup_epochs = 0;  // linear rise from 0; triangle: to its peak (0: a quarter of the run)
  double step_epochs = 30;   // step: epochs between two drops
  double step_gamma = 0.1;   // step: factor of each drop
  double polynomial_power = 2;  // polynomial; 1 is linear
};

class Schedule {
 public:
  // `peak` is the learning rate that the schedule rises to or starts from.
  Schedule(const ScheduleOptions& options, double peak, std::uint64_t steps_per_epoch,
           std::uint64_t total_steps);

  // Whether the rate depends on total_steps: all but constant and step.
  static bool depends_on_length(const ScheduleOptions& options);

  // If the rate depends on total_steps, the last rate holds from that step on. During warm-up
  // peak * (step + 1) / warm-up steps. Afterwards, with s steps since the warm-up of S in all:
  // cosine peak * (1 + cos(pi s / S)) / 2 (torch.optim.lr_scheduler.CosineAnnealingLR), linear and
  // triangle peak * (S - s) / S, polynomial peak * ((S - s) / S)^power (PolynomialLR), step
  // peak * gamma^floor(step / drop) (StepLR).
  double at(std::uint64_t step) const;

 private:
  ScheduleOptions options_;
  double peak_;
  double warmup_steps_;
  double drop_steps_;
  double total_steps_;
  double last_step_;  // the last rate is of this step
};

}  // namespace tandem::train
