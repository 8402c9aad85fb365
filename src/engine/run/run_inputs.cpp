#include "run_inputs.hpp"

#include "engine/compute.hpp"
#include "resume_check.hpp"
#include "run_network.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::app {
namespace {

train::BatchArithmetic agree_on_arithmetic(Job& job, const TrainRequest& request,
                                           std::uint64_t image_count,
                                           const data::DatasetInfo& info) {
  const train::TrainConfig& config = request.config;
  train::BatchArithmetic arithmetic;
  comm::agree(job.world, job.topology.host, [&] {
    config.augment.require_shape(info.shape);
    if (request.reporting.views) require_one_label(info, "--tta");
    arithmetic = train::BatchArithmetic::of(config, image_count, job.topology.world);
  });
  return arithmetic;
}

train::StoreOptions store_options_of(const train::TrainConfig& config) {
  return {config.validation_split, config.reading.cache_bytes, config.reading.lanes == 0};
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
          info.multi_label};
}

}  // namespace

RunDevice open_run_device(Job& job, const TrainRequest& request) {
  const train::TrainConfig& config = request.config;
  if (config.deterministic) model::use_deterministic_algorithms();
  RunDevice run{use_threads_of(job, config), choose_device(job, request.device.request),
                torch::kCPU};
  run.device = open_device(job, request.device.request, run.choice,
                           {config.precision, config.deterministic});
  return run;
}

RunInputs::RunInputs(Job& job, const RunRequest& run, const RunStart& start, const Touch& touch)
    : network_file(read_network_together(job, start, run.train.config.model)),
      images(run.train.config.data, job.world, job.node, job.topology,
             store_options_of(run.train.config), touch),
      image_count(images.view(data::Split::kTrain).labels.size()),
      arithmetic(agree_on_arithmetic(job, run.train, image_count, images.info())),
      description(describe_model(network_file, run.train.config, images.info())) {
  const train::ReadingOptions& reading = run.train.config.reading;
  lanes = images.lanes(reading.lanes, reading.shuffle_bytes);
  warn_about(job, run.train.config.data, images);
  const auto world = static_cast<std::uint64_t>(job.topology.world);
  warn_of_cache(job, images, lanes.get(),
                arithmetic.global_batch / run.train.config.micro_batches_per_step(world) + 1);
  require_same_run(job, start, run.options, images.info().digest, network_file.sha256,
                   arithmetic.global_batch);
  schedule = choose_schedule_together(job, run, start, arithmetic, image_count);
}

}  // namespace tandem::app
