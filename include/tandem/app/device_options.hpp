// What: the options that say where ranks compute and what carries gradients.
// Owns: nothing. Threads: any. Throws: nothing; faults are collected in the Options.
#pragma once

#include "tandem/app/options.hpp"
#include "tandem/comm/gpu_binding.hpp"

namespace tandem::app {

struct DeviceOptions {
  comm::DeviceRequest request;
  double init_timeout_seconds = 60;  // for NCCL to connect the ranks
};

// Those of every command that computes.
OptionSpec device_option();
OptionSpec gpu_ids_option();
OptionSpec share_gpu_option();
// Those of commands that exchange gradients.
OptionSpec backend_option();
OptionSpec init_timeout_option();

// What the command's table has of these; also notes what excludes each other.
DeviceOptions read_device_options(Options& options);

}  // namespace tandem::app
