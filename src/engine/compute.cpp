#include "compute.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/doctor_judge.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/nccl_communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/picture_reader.hpp"
#include "tandem/data/verify.hpp"
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

void warn_about(const Job& job, const std::string& path, const train::ImageStore& images) {
  if (!images.info().sealed) job.warn(data::unsealed_warning(path));
  if (images.unshared_bytes() > 0) {
    job.warn(no_room_for_images(images.unshared_bytes(), true).text());
  } else if (!images.shared()) {
    job.warn(no_room_for_images(images.bytes(), false).text());
  }
}

namespace {

// The options that let a rank's pictures fit into `kept` bytes. `share`: the rank's share of the
// lanes.
std::string smaller_order(const data::LaneOrder& lanes, double share, double kept) {
  const auto least = static_cast<double>(lanes.least_bytes_in_use()) * share;
  if (least <= kept) return "a smaller --shuffle-mb";
  return lanes.bytes_in_use() == lanes.least_bytes_in_use()
             ? "a smaller --read-lanes"
             : "a smaller --read-lanes and --shuffle-mb";
}

}  // namespace

void warn_of_cache(Job& job, const train::ImageStore& images, const data::LaneOrder* lanes,
                   std::uint64_t batch) {
  if (images.cache_bytes() == 0 || lanes == nullptr) return;
  const auto world = static_cast<std::uint64_t>(job.topology.world);
  const std::uint64_t of_rank = (lanes->lanes() + world - 1) / world;
  const std::uint64_t needed = lanes->bytes_in_use() / lanes->lanes() * of_rank;
  const std::uint64_t of_batch = batch * (images.info().train_bytes / images.info().train_count);
  const auto kept = static_cast<double>(data::PictureReader::kept_of(
      data::PictureBlocks::reserved_of(images.cache_bytes()), of_batch));
  const double share = job.world.all_reduce_value(
      needed > 0 ? kept / static_cast<double>(needed) : 1.0, comm::Reduction::kMin);
  const std::uint64_t enough = job.world.all_reduce_value<std::uint64_t>(
      data::PictureBlocks::min_bytes_for(data::PictureReader::share_for(needed, of_batch)) *
          static_cast<std::uint64_t>(job.topology.local_size),
      comm::Reduction::kMax);
  if (share >= 1) return;
  // A block is read again when pictures that the cache dropped are due. The cached bytes are
  // proportional to the time between two reads. Measured: 1.6 reads at an estimate of 1.55, 2.8 at
  // 3.1.
  const double held = share * static_cast<double>(needed);
  job.warn("the picture cache of a rank holds " + format_bytes(static_cast<std::uint64_t>(held)) +
           ", its " + format_quantity(of_rank, "lane") + " use " + format_bytes(needed) +
           " at a time, so the rank reads each block of the file " +
           (share > 0.02 ? "about " + format_fixed(1 / share, 1) + " times an epoch"
                         : "for almost every picture") +
           "; fix: --cache-mb " +
           format_fixed(std::ceil(static_cast<double>(enough) / train::kMebibyte), 0) +
           ", more ranks or hosts, or " +
           smaller_order(*lanes, static_cast<double>(of_rank) / static_cast<double>(lanes->lanes()),
                         held) +
           " for a new run");
}

void require_fit_for_views(const data::DatasetInfo& info) {
  if (info.multi_label) {
    throw UsageError("--tta is for sets with one label for each image, and " + info.name +
                     " is a multi-label set; leave it out");
  }
  if (std::min(info.shape.height, info.shape.width) < 2) {
    throw UsageError("--tta shifts images by a pixel, and those of " + info.name + " are " +
                     info.shape.text() + "; leave it out");
  }
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

std::unique_ptr<train::BatchSource> make_batches(const data::ImagesView& view,
                                                 const data::DatasetInfo& info,
                                                 const train::TrainConfig& config,
                                                 std::unique_ptr<data::Sampler> sampler,
                                                 torch::Device device, std::uint64_t gpu_bytes) {
  const data::AugmentKey augment{config.augment, config.seed, config.decoding};
  const data::Layout layout =
      config.channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  data::Transform transform(info.shape, layout, info.mean, info.std);
  if (device.is_cpu()) {
    return std::make_unique<train::LoadedBatches>(view, std::move(transform), augment,
                                                  std::move(sampler), config.loader_threads);
  }
  if (!config.augment.is_crop_and_flip() || view.is_multi_label()) {
    return std::make_unique<train::SentBatches>(view, std::move(transform), augment,
                                                std::move(sampler), device, config.loader_threads);
  }
  train::PixelMoments moments{info.mean, info.std};
  // The code of a TorchScript file may compute with its input before autocast rounds it.
  if (!model::is_script_file(config.model)) moments.type = type_of(config.precision);
  if (train::ResidentImages::bytes_of(view) <= gpu_bytes / kShareForImages) {
    return std::make_unique<train::ResidentBatches>(view, layout, moments, augment,
                                                    std::move(sampler), device);
  }
  return std::make_unique<train::StreamedBatches>(view, layout, moments, augment,
                                                  std::move(sampler), device);
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
