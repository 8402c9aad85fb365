// The options of `tandem train --plan` for hosts that are not started. Throws UsageError.
#pragma once

#include <optional>
#include <string>

#include "options.hpp"
#include "tandem/comm/allreduce/traffic.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

struct PlanTarget {
  comm::Placement placement;
  comm::Link link;  // of one host alone: not used
};

// "25gbit", "100mbit,50us", "25gbit,5us,2:1": rate, latency, oversubscription.
comm::Link parse_link(const std::string& text);

// Absent without --hosts. Adds faults to `options`.
std::optional<PlanTarget> read_plan_target(Options& options, const train::TrainConfig& config);

}  // namespace tandem::app
