// The options of `tandem train` for how the result is computed: precision, device, threads and the
// exchange of gradients. Bad values are added to the options as faults.
#pragma once

#include "device_options.hpp"
#include "options.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

// The upper limit of options that count the images of a batch.
inline constexpr std::uint64_t kMaxImagesPerBatch = std::uint64_t{1} << 31;

OptionTable execution_options();
// Call it after the options of batch, network and optimizer are read.
DeviceOptions read_execution_options(Options& options, train::TrainConfig& config);

// Options of other commands, too.
OptionSpec precision_option();
OptionSpec convolution_option();
OptionSpec channels_last_option();
OptionSpec threads_option();
OptionSpec eval_batch_size_option();
OptionSpec share_weights_option();

int read_threads(Options& options);  // 0: not given
std::uint64_t read_eval_batch_size(Options& options);
// Refuses the options that --share-weights excludes. Call it after the other options are read.
void read_share_weights(Options& options, const device::DeviceRequest& device,
                        train::TrainConfig& config);
// Reads --grad-dtype and --powersgd-rank, after --bucket-mb and --precision.
void read_gradient_form(Options& options, train::TrainConfig& config);
// Adds a fault if `algorithm` cannot add gradients of --grad-dtype bf16.
void require_bfloat16_sums(Options& options, comm::AllReduceAlgorithm algorithm);

}  // namespace tandem::app
