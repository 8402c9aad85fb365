#include "compute.hpp"

#include <algorithm>
#include <utility>

#include "tandem/comm/agree.hpp"
#include "tandem/comm/nccl_communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/cuda.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/model/gpu_failure.hpp"
#include "tandem/model/network_names.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/train/staged_collectives.hpp"

namespace tandem::app {
namespace {

// The rest is for activations, weights and libtorch's own.
constexpr std::uint64_t kShareForImages = 4;
constexpr std::uint64_t kShareForEvaluation = 16;

// All ranks compute alike, because Muon's update must be the same on all.
void agree_on_kernels(Job& job) {
  const std::string& reason = model::fused::why_unavailable();
  const std::int64_t has_kernels = reason.empty() ? 1 : 0;
  const std::int64_t with_kernels = job.world.all_reduce_value(has_kernels);
  if (with_kernels == job.topology.world) return;
  if (with_kernels == 0) {
    job.warn("steps take longer, because the kernels for GPUs are not used: " + reason);
    return;
  }
  comm::agree(job.world, [&] {
    if (has_kernels == 1) return;
    throw UnavailableError("the kernels for GPUs are used on other ranks, not here: " + reason +
                           "; install the same tandem on all hosts");
  });
}

torch::Dtype type_of(model::Precision precision) {
  if (precision == model::Precision::kBf16) return torch::kBFloat16;
  return precision == model::Precision::kFp16 ? torch::kFloat16 : torch::kFloat32;
}

}  // namespace

torch::Device open_device(Job& job, const device::DeviceRequest& request, DeviceChoice& choice,
                          DeviceArithmetic arithmetic) {
  torch::Device device = torch::kCPU;
  try {
    comm::agree(job.world, [&] {
      if (!choice.mine.gpu) return;
      device = model::open_cuda(
          choice.mine.gpu->index,
          {arithmetic.is_deterministic, arithmetic.precision == model::Precision::kTf32});
      choice.free_bytes = model::free_memory_of(device);
    });
  } catch (const comm::AgreedError& error) {
    if (error.code() != ExitCode::kUnavailable || !device::may_take_cpu(request)) throw;
    job.warn(std::string("--device auto takes the CPU on all ranks: ") + error.what());
    choice.take_cpu();
    device = torch::kCPU;
  }
  if (device.is_cuda()) agree_on_kernels(job);
  comm::agree(job.world, [&] {
    if (device.is_cpu() && model::needs_gpu(arithmetic.precision)) {
      const bool is_fp16 = arithmetic.precision == model::Precision::kFp16;
      throw UsageError("--precision " + std::string(is_fp16 ? "fp16" : "tf32") +
                       " is for GPUs, and these ranks compute on CPUs; give --precision " +
                       (is_fp16 ? "bf16" : "fp32") +
                       std::string(request.device == device::DeviceKind::kCpu
                                       ? ""
                                       : ", or --device cuda to learn why there is no GPU"));
    }
  });
  if (device.is_cuda()) model::name_gpu(choice.mine.text());
  return device;
}

// How a sum is cut among threads decides how it rounds. Virtual ranks are to give the same bits on
// one rank of many cores as on many ranks of one; and Muon multiplies matrices on every rank, which
// must come to the same.
int use_threads_of(Job& job, const train::TrainConfig& config) {
  int threads = 1;
  comm::agree(job.world, [&] {
    threads =
        rank_threads(config.threads, config.virtual_ranks > 0 ? 1 : job.topology.default_threads());
  });
  if (config.optimizer.name == "muon") {
    threads = static_cast<int>(
        job.world.all_reduce_value(static_cast<std::int64_t>(threads), comm::Reduction::kMin));
  }
  at::set_num_threads(threads);
  return threads;
}

void require_cpu(torch::Device device, const std::string& option) {
  if (device.is_cpu()) return;
  throw UsageError(option + ": is for ranks on CPUs; leave it out with GPUs, or give --device cpu");
}

std::unique_ptr<comm::Collectives> make_device_collectives(Job& job, const DeviceOptions& options,
                                                           const DeviceChoice& choice,
                                                           torch::Device device) {
  if (!choice.mine.gpu) return nullptr;
  if (job.topology.world == 1 && options.request.backend != device::Backend::kNccl) return nullptr;
  if (choice.backend == device::Backend::kMpi) {
    return std::make_unique<train::StagedCollectives>(job.world, device);
  }
  comm::NcclSettings settings;
  settings.device = choice.mine.gpu->index;
  settings.gpu = choice.mine.text();
  settings.init_timeout = options.init_timeout_seconds;
  settings.compute_stream = [device] { return model::current_stream(device); };
  return comm::make_nccl(job.world, settings);
}

std::uint64_t memory_of_gpu(const DeviceChoice& choice, const device::DeviceRequest& request,
                            const comm::Topology& topology) {
  if (!choice.mine.gpu) return 0;
  // How many ranks share this very one is rank 0's to know; all of the host is the most.
  const auto ranks = static_cast<std::uint64_t>(request.share_gpu ? topology.local_size : 1);
  const std::uint64_t all = choice.mine.gpu->memory_bytes;
  return (choice.free_bytes > 0 ? std::min(all, choice.free_bytes) : all) / ranks;
}

void evaluate_on_gpu(train::EvaluationSettings& settings, const train::PixelMoments& moments,
                     std::uint64_t gpu_bytes) {
  if (settings.device.is_cpu()) return;
  settings.moments = moments;
  settings.resident_bytes = gpu_bytes / kShareForEvaluation;
}

data::Transform transform_of(const train::TrainConfig& config, const data::DatasetInfo& info) {
  return {info.shape, config.channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar,
          info.mean, info.std};
}

std::unique_ptr<train::BatchSource> make_batches(const data::ImagesView& view,
                                                 const data::DatasetInfo& info,
                                                 const train::TrainConfig& config,
                                                 std::unique_ptr<data::Sampler> sampler,
                                                 const BatchDevice& to) {
  const data::AugmentKey augment{config.augment, config.seed, config.decoding};
  data::Transform transform = transform_of(config, info);
  const data::Layout layout = transform.layout();
  if (to.device.is_cpu()) {
    return std::make_unique<train::LoadedBatches>(view, std::move(transform), augment,
                                                  std::move(sampler), config.loader_threads);
  }
  if (!config.augment.is_crop_and_flip() || view.is_multi_label()) {
    return std::make_unique<train::SentBatches>(
        view, std::move(transform), augment, std::move(sampler), to.device, config.loader_threads);
  }
  train::PixelMoments moments{info.mean, info.std};
  // The code of a TorchScript file may compute with its input before autocast rounds it.
  if (!model::is_script_file(config.model)) moments.type = type_of(config.precision);
  if (train::ResidentImages::bytes_of(view) <= to.gpu_bytes / kShareForImages) {
    auto images =
        std::make_shared<const train::ResidentImages>(view, to.device, config.decoding, to.touch);
    return std::make_unique<train::ResidentBatches>(std::move(images), layout, moments, augment,
                                                    std::move(sampler));
  }
  return std::make_unique<train::StreamedBatches>(view, layout, moments, augment,
                                                  std::move(sampler), to.device);
}

train::LossScale loss_scale_of(const train::TrainConfig& config,
                               const train::BatchArithmetic& arithmetic, train::LossScale earlier) {
  if (earlier.scale > 0) return earlier;
  return train::first_loss_scale(config.sums_loss ? arithmetic.global_batch : 1);
}

std::unique_ptr<train::StepBackend> make_step_backend_on(train::ParameterArena& arena,
                                                         train::Optimizer& optimizer,
                                                         const train::TrainConfig& config,
                                                         train::LossScale scale) {
  if (arena.device().is_cpu()) return train::make_step_backend(arena, optimizer, config.clip_norm);
  return train::make_device_step_backend(arena, optimizer, config.clip_norm, config.precision,
                                         scale);
}

}  // namespace tandem::app
