#include "run_inputs.hpp"

#include "cli/loader_options.hpp"
#include "engine/compute.hpp"
#include "engine/data_set_checks.hpp"
#include "memory_plan.hpp"
#include "resume_check.hpp"
#include "run_network.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::app {
namespace {

// More than batches, weights and optimizer of a rank usually need. With less free memory per rank,
// a network is made to count its parameters.
constexpr std::uint64_t kAmple = std::uint64_t{4} << 30;

train::BatchArithmetic agree_on_arithmetic(Job& job, const TrainRequest& request,
                                           std::uint64_t image_count,
                                           const data::DatasetInfo& info) {
  const train::TrainConfig& config = request.config;
  train::BatchArithmetic arithmetic;
  comm::agree(job.world, [&] {
    config.augment.require_shape(info.shape);
    if (request.reporting.views) require_fit_for_views(info);
    arithmetic = train::BatchArithmetic::of(config, image_count, job.topology.world);
  });
  return arithmetic;
}

ModelDescription describe_model(const NetworkFile& file, const train::TrainConfig& config,
                                const data::DatasetInfo& info) {
  return {file.bytes.empty() ? config.model : kNetworkFile,
          info.name,
          info.digest,
          info.shape,
          info.classes,
          info.mean,
          info.std,
          file.sha256,
          data::has_upright_images(info),
          config.hidden,
          config.stem,
          info.multi_label,
          info.is_encoded() ? config.eval_fit : data::Fit::kStretch};
}

// The number of parameters of the network; 0 if counting would run code of a file, or fails.
std::uint64_t count_parameters(const ModelDescription& description, const NetworkFile& file) try {
  if (description.is_script()) return 0;
  std::uint64_t count = 0;
  const model::NetworkPtr network = make_untrained(description, file);
  for (const torch::Tensor& each : network->parameters()) {
    count += static_cast<std::uint64_t>(each.numel());
  }
  return count;
} catch (const Error&) {  // reported when the network is made
  return 0;
}

// Activations are not known yet.
train::StoreOptions store_options_of(const Job& job, const train::TrainConfig& config,
                                     const NetworkFile& file, torch::Device device) {
  train::StoreOptions options{config.validation_split, config.reading};
  if (!device.is_cpu()) return options;
  options.before_reading = [&job, &config, &file](const data::DatasetInfo& info,
                                                  std::uint64_t bytes) {
    const auto room = memory_room();
    if (!room || job.topology.local_rank != 0) return;
    const int ranks = job.node.size();
    const DataMemory data = DataMemory::of(config, info, job.topology.world, bytes);
    require_memory(data, {}, ranks, *room);
    if (room->bytes > bytes + static_cast<std::uint64_t>(ranks) * kAmple) return;
    const std::uint64_t parameters = count_parameters(describe_model(file, config, info), file);
    require_memory(data, least_state(config, parameters), ranks, *room);
  };
  return options;
}

}  // namespace

RunDevice open_run_device(Job& job, const TrainRequest& request) {
  const train::TrainConfig& config = request.config;
  if (config.deterministic) model::use_deterministic_algorithms();
  RunDevice run{use_threads_of(job, config), choose_device(job, request.device.request),
                torch::kCPU};
  run.device = open_device(job, request.device.request, run.choice,
                           {config.precision, config.deterministic});
  comm::agree(job.world, [&] {
    if (config.sync_bn) require_cpu(run.device, "--sync-bn");
  });
  return run;
}

RunInputs::RunInputs(Job& job, const RunRequest& run, const RunStart& start,
                     const RunDevice& device, const Touch& touch)
    : network_file(read_network_together(job, start, run.train.config.model)),
      images(run.train.config.data, job.world, job.node,
             store_options_of(job, run.train.config, network_file, device.device), touch),
      image_count(images.view(data::Split::kTrain).labels.size()),
      arithmetic(agree_on_arithmetic(job, run.train, image_count, images.info())),
      description(describe_model(network_file, run.train.config, images.info())) {
  comm::agree_on_rank_0(job.world, [&] {
    const bool is_asked = run.train.config.eval_fit != data::Fit::kStretch &&
                          run.options.value("eval-crop").origin > Origin::kConfigFile;
    if (!is_asked || images.info().is_encoded()) return;
    throw UsageError("--eval-crop center is for picture files, and " + run.train.config.data +
                     " has pixels of one size; leave it out, or pack with --store encoded");
  });
  if (!start.resumes && !images.info().is_encoded()) {
    for (const std::string& each : describe_unused_by_pixels(run.options)) job.warn(each);
  }
  lanes = images.lanes(run.train.config.reading);
  warn_of_data_set(job, run.train.config.data, images);
  const auto world = static_cast<std::uint64_t>(job.topology.world);
  warn_of_cache(job, images, lanes.get(),
                arithmetic.global_batch / run.train.config.micro_batches_per_step(world) + 1);
  require_same_run(job, start, run.options, images.info(), network_file.sha256,
                   arithmetic.global_batch);
  schedule = choose_schedule_together(job, run, start, arithmetic, image_count);
}

}  // namespace tandem::app
