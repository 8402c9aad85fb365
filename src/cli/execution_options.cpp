#include "execution_options.hpp"

#include "loader_options.hpp"
#include "network_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/network_names.hpp"
#include "tandem/model/precision.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxPowerSgdRank = 1024;

OptionSpec bucket_option() {
  return {
      "bucket-mb",
      "X|auto",
      "",
      "gradient bucket in MiB; 0: one bucket, exchanged after backward; auto: measured at the "
      "start; if not given: 2 over NCCL, else 0",
      "execution",
      kOfExecution,
      {},
      {"auto", "another run may measure another size, and sums round otherwise; give a number"}};
}

}  // namespace

OptionSpec precision_option() {
  return {"precision",
          "NAME",
          "fp32",
          "fp32, or bf16 autocast with fp32 weights; on GPUs also tf32, or fp16 autocast",
          "execution",
          kOfResult,
          model::precision_names()};
}

OptionSpec convolution_option() {
  return {"convolution",
          "NAME",
          "auto",
          "3x3 convolutions on CPUs: auto, by Winograd's algorithm where that is faster; or direct",
          "execution",
          kOfExecution,
          model::convolution_names(),
          {},
          {},
          "direct"};
}

OptionSpec channels_last_option() {
  return {"channels-last", "",
          "true",          "keep images and filters as height, width, channels",
          "execution",     kOfExecution};
}

OptionSpec threads_option() {
  return {
      "threads",   "N",
      "0",         "threads per rank; 0: OMP_NUM_THREADS, else the CPUs that no other rank uses",
      "execution", kOfExecution};
}

OptionSpec share_weights_option() {
  return {"share-weights", "",
          "false",         "one copy of weights and optimizer state per host, for ranks on CPUs",
          "execution",     kOfPlacement};
}

OptionSpec eval_batch_size_option() {
  return {"eval-batch-size",
          "N",
          std::to_string(data::EvaluationSampler::kBatch),
          "images that a rank evaluates at once",
          "execution",
          kOfExecution};
}

OptionTable execution_options() {
  return {
      precision_option(),
      channels_last_option(),
      convolution_option(),
      gradient_checkpointing_option(),
      sync_bn_option(),
      device_option(),
      gpu_ids_option(),
      share_gpu_option(),
      backend_option(),
      init_timeout_option(),
      {"cuda-graph",
       "NAME",
       "auto",
       "auto: record steps on GPUs as a CUDA graph, where the run allows it; off: never",
       "execution",
       kOfExecution,
       {"auto", "off"}},
      threads_option(),
      loader_threads_option(),
      eval_batch_size_option(),
      bucket_option(),
      {"all-reduce",
       "NAME",
       "flat",
       "all-reduce of the gradients: flat, by all ranks alike; two-level, within each host "
       "first, which sends less between hosts; mpi, by the all-reduce of the MPI library, which "
       "may use the network's offloads",
       "execution",
       kOfExecution,
       comm::all_reduce_algorithm_names(),
       {"mpi", "the MPI library chooses the order of additions"},
       {"sum-algorithm"}},
      {"grad-dtype",
       "NAME",
       "fp32",
       "format of gradients in messages: fp32, bf16 (half the bytes) or powersgd (low-rank "
       "matrices; for CPUs on links below 1 Gbit/s)",
       "execution",
       kOfExecution,
       {"fp32", "bf16", "powersgd"},
       {"bf16", "what its rounding leaves over is in no checkpoint"}},
      only_with(
          {"grad-dtype", {"powersgd"}},
          {"powersgd-rank", "R", "4",
           "rank of the matrices of --grad-dtype powersgd; a higher one sends more and loses less",
           "execution", kOfExecution}),
      share_weights_option(),
  };
}

namespace {

void refuse_gpus(Options& options, const device::DeviceRequest& request,
                 const std::string& option) {
  const bool wants_gpus = request.device == device::DeviceKind::kCuda || !request.gpu_ids.empty() ||
                          request.share_gpu || request.backend == device::Backend::kNccl;
  if (!wants_gpus) return;
  options.add_fault(option +
                    " computes on CPUs; leave it out, or --device cuda, --gpu-ids, --share-gpu and "
                    "--backend nccl");
}

// Adds a fault for options that exclude each other: this one and `what`, if that is asked for.
class Exclusions {
 public:
  Exclusions(Options& options, std::string option)
      : options_(options), option_(std::move(option)) {}
  void add(bool is_asked, const std::string& what, const std::string& why) {
    if (!is_asked) return;
    options_.add_fault(option_ + " and " + what + " exclude each other: " + why +
                       "; leave one of them out");
  }

 private:
  Options& options_;
  const std::string option_;
};

// After the bucket's size.
void read_sync_bn(Options& options, const device::DeviceRequest& device,
                  train::TrainConfig& config) {
  config.sync_bn = options.flag("sync-bn");
  if (!config.sync_bn) return;
  refuse_gpus(options, device, "--sync-bn");
  if (!model::has_norms(config.model)) {
    options.add_fault("--sync-bn is for tandem's networks with BatchNorm: " +
                      join(model::networks_with_norms(), ", ") + "; --model is " + config.model +
                      ", leave it out");
  }
  Exclusions excluded(options, "--sync-bn");
  excluded.add(config.virtual_ranks > 0, "--virtual-ranks", "a shard is normalized by itself");
  excluded.add(config.gradient_checkpointing, "--gradient-checkpointing",
               "ranks would exchange statistics again in backward");
  excluded.add(config.measure_bucket || config.bucket_mb > 0,
               "--bucket-mb " + options.text("bucket-mb"),
               "ranks exchange statistics in backward, where buckets travel");
}

void read_gradient_sums(Options& options, train::TrainConfig& config) {
  const std::string algorithm = options.choice("all-reduce");
  config.all_reduce = comm::all_reduce_algorithm_of(algorithm);
  if (config.virtual_ranks > 0 && config.all_reduce != comm::AllReduceAlgorithm::kFlat) {
    options.add_fault("--all-reduce " + algorithm +
                      " and --virtual-ranks exclude each other: virtual ranks add along a tree of "
                      "their own");
  }
  read_gradient_form(options, config);
  if (!config.bfloat16_gradients && config.powersgd_rank == 0) return;
  if (config.bfloat16_gradients) require_bfloat16_sums(options, config.all_reduce);
  if (config.virtual_ranks > 0) {
    options.add_fault(
        "--grad-dtype " + options.text("grad-dtype") +
        " and --virtual-ranks exclude each other: what a rank has not sent depends on "
        "its earlier steps, so bits would depend on the number of ranks");
  }
}

void read_bucket(Options& options, train::TrainConfig& config) {
  config.measure_bucket = options.text("bucket-mb") == "auto";
  if (!options.is_set("bucket-mb") || config.measure_bucket) return;
  config.bucket_mb = options.parsed("bucket-mb", [](const std::string& text) {
    try {
      return parse_real(text, 0, train::kMaxBucketMb, "--bucket-mb");
    } catch (const UsageError& error) {
      throw UsageError(std::string(error.what()) + " (0: one bucket), nor auto");
    }
  });
}

}  // namespace

void read_share_weights(Options& options, const device::DeviceRequest& device,
                        train::TrainConfig& config) {
  config.share_weights = options.flag("share-weights");
  if (!config.share_weights) return;
  refuse_gpus(options, device, "--share-weights");
  Exclusions excluded(options, "--share-weights");
  const std::string& optimizer = config.optimizer.name;
  excluded.add(optimizer == "lars" || optimizer == "lamb", "--optimizer " + optimizer,
               "ranks divide the updates of sgd, adamw and muon only");
  const std::string each_rank = "each rank would change the one copy";
  excluded.add(config.ema > 0, "--ema", each_rank);
  excluded.add(!config.rate_scales.empty(), "--lr-scale", each_rank);
}

void read_gradient_form(Options& options, train::TrainConfig& config) {
  const std::string form = options.choice("grad-dtype");
  config.bfloat16_gradients = form == "bf16";
  const std::uint64_t rank = options.count("powersgd-rank", 1, kMaxPowerSgdRank);
  if (form != "fp32" && config.precision == model::Precision::kFp16) {
    options.add_fault("--grad-dtype " + form +
                      " and --precision fp16 exclude each other: the loss scale changes, and the "
                      "errors that a rank keeps do not; give --precision bf16");
  }
  if (form != "powersgd") return;
  config.powersgd_rank = rank;
  if (config.measure_bucket || config.bucket_mb > 0) {
    options.add_fault("--grad-dtype powersgd and --bucket-mb " + options.text("bucket-mb") +
                      " exclude each other: gradients are compressed after backward; give "
                      "--bucket-mb 0");
  }
}

void require_bfloat16_sums(Options& options, comm::AllReduceAlgorithm algorithm) {
  if (algorithm != comm::AllReduceAlgorithm::kLibrary) return;
  options.add_fault(
      "--all-reduce mpi and --grad-dtype bf16 exclude each other: MPI cannot add bfloat16 "
      "numbers");
}

int read_threads(Options& options) { return static_cast<int>(options.count("threads", 0, 1024)); }

std::uint64_t read_eval_batch_size(Options& options) {
  return options.count("eval-batch-size", 1, kMaxImagesPerBatch);
}

DeviceOptions read_execution_options(Options& options, train::TrainConfig& config) {
  config.precision = model::parse_precision(options.choice("precision"));
  config.convolution = model::parse_convolution(options.choice("convolution"));
  DeviceOptions device = read_device_options(options);
  read_share_weights(options, device.request, config);
  if (config.virtual_ranks > 0) {
    refuse_gpus(options, device.request, "--virtual-ranks");
    device.request.device =
        device::DeviceKind::kCpu;  // the sums of CPUs are the same on every host
  }
  config.threads = read_threads(options);
  config.loader_threads = read_loader_threads(options);
  config.eval_batch_size = read_eval_batch_size(options);
  read_bucket(options, config);
  read_sync_bn(options, device.request, config);
  read_gradient_sums(options, config);
  return device;
}

}  // namespace tandem::app
