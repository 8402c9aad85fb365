// The options that choose the device of each rank and the transport of gradients. A bad value
// becomes a fault of the Options.
#pragma once

#include "options.hpp"
#include "tandem/device/gpu_binding.hpp"

namespace tandem::app {

struct DeviceOptions {
  device::DeviceRequest request;
  double init_timeout_seconds = 60;  // for NCCL to connect the ranks
};

// Options of every command that computes.
OptionSpec device_option();
OptionSpec gpu_ids_option();
OptionSpec share_gpu_option();
// Options of commands that exchange gradients.
OptionSpec backend_option();
OptionSpec init_timeout_option();

// Reads those options that the command's table has; contradictions become faults.
DeviceOptions read_device_options(Options& options);

}  // namespace tandem::app
