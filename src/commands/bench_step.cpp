// tandem bench step: what a training step takes, part by part, on noise in memory.
#include "bench_form.hpp"
#include "cli/device_options.hpp"
#include "cli/execution_options.hpp"
#include "cli/network_options.hpp"
#include "session/engine.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/network_names.hpp"

namespace tandem::app {
namespace {

StepRequest read_step_request(Options& options) {
  StepRequest request;
  train::TrainConfig& config = request.config;
  config.model = options.choice("model");
  config.batch_size = options.count("batch-size", 1, std::uint64_t{1} << 20);
  config.optimizer.name = options.choice("optimizer");
  config.precision = model::parse_precision(options.choice("precision"));
  config.convolution = model::parse_convolution(options.choice("convolution"));
  config.channels_last = options.flag("channels-last");
  read_gradient_checkpointing(options, config);
  config.threads = read_threads(options);
  config.bucket_mb = options.real("bucket-mb", 0, train::kMaxBucketMb);
  read_gradient_form(options, config);
  request.device = read_device_options(options);
  read_share_weights(options, request.device.request, config);
  request.steps = options.count("steps", 1, std::uint64_t{1} << 30);
  request.json = options.flag("json");
  options.throw_faults("bench");
  return request;
}

int run_bench_step(Job& job, Options& options, const std::vector<std::string>&) {
  StepRequest request;
  comm::agree(job.world, [&] { request = read_step_request(options); });
  return open_engine(job).bench_step(job, request);
}

}  // namespace

BenchForm bench_step_form() {
  const std::vector<std::string> optimizers{"sgd", "adamw", "muon", "lars", "lamb"};
  return {
      "step",
      {{"model",
        "NAME",
        "simple",
        join(model::network_names(), ", "),
        "step",
        {},
        model::network_names()},
       {"optimizer", "NAME", "sgd", join(optimizers, ", "), "step", {}, optimizers},
       in_group("step", precision_option()),
       in_group("step", convolution_option()),
       in_group("step", gradient_checkpointing_option()),
       in_group("step", threads_option()),
       {"bucket-mb", "X", "0", "gradient bucket in MiB; 0: one, exchanged after backward", "step"},
       in_group(kStepAndAllReduce, device_option()),
       in_group(kStepAndAllReduce, gpu_ids_option()),
       in_group(kStepAndAllReduce, share_gpu_option()),
       in_group(kStepAndAllReduce, backend_option()),
       in_group(kStepAndAllReduce, init_timeout_option()),
       bench_batch_option(),
       bench_steps_option(),
       in_group(kStepAndLoader, channels_last_option()),
       bench_grad_dtype_option(),
       {"powersgd-rank", "R", "4", "rank of the matrices of --grad-dtype powersgd", "step"},
       in_group("step", share_weights_option()),
       bench_json_option()},
      run_bench_step};
}

}  // namespace tandem::app
