#include "train_options.hpp"

#include "loader_options.hpp"
#include "network_options.hpp"
#include "recipe_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/network_names.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxPowerSgdRank = 1024;
constexpr std::uint64_t kMaxImages = std::uint64_t{1} << 31;

bool is_global_batch_stronger(const Options& options) {
  return options.is_set("global-batch-size") &&
         (!options.is_set("batch-size") ||
          options.value("global-batch-size").origin > options.value("batch-size").origin);
}

void read_batch(Options& options, train::TrainConfig& config) {
  const bool both = options.is_set("global-batch-size") && options.is_set("batch-size") &&
                    options.value("global-batch-size").origin == options.value("batch-size").origin;
  if (both) {
    options.add_fault(
        "--batch-size (images per rank) and --global-batch-size (images over all ranks) exclude "
        "each other; give one");
  }
  if (is_global_batch_stronger(options)) {
    config.global_batch_size = options.count("global-batch-size", 1, kMaxImages);
  } else {
    config.batch_size = options.count("batch-size", 1, kMaxImages);
  }
  config.accumulate = options.count("accumulate", 1, 65536);
  config.drop_last = options.flag("drop-last");
  config.virtual_ranks = options.count("virtual-ranks", 0, 65536);
  if ((config.virtual_ranks & (config.virtual_ranks - 1)) != 0 && config.virtual_ranks != 0) {
    options.add_fault("--virtual-ranks: " + std::to_string(config.virtual_ranks) +
                      " is not a power of two");
  }
  if (config.virtual_ranks > 0 && config.accumulate > 1) {
    options.add_fault(
        "--virtual-ranks and --accumulate exclude each other: the shards are the "
        "accumulation");
  }
}

void read_optimizer(Options& options, train::TrainConfig& config) {
  config.optimizer.name = options.choice("optimizer");
  config.optimizer.momentum = options.real("momentum", 0, 1);
  config.optimizer.nesterov = options.flag("nesterov");
  config.optimizer.weight_decay = options.real("weight-decay", 0, kMaxReal);
  config.optimizer.beta1 = options.real("beta1", 0, 0.999999);
  config.optimizer.beta2 = options.real("beta2", 0, 0.999999);
  config.optimizer.epsilon = options.real("epsilon", 0, 1);
  if (config.optimizer.nesterov && config.optimizer.momentum == 0) {
    options.add_fault("--nesterov needs a --momentum above 0");
  }
  config.optimizer.head_rate = options.real("head-lr", 0, kMaxReal);
  config.optimizer.bias_rate = options.real("bias-lr", 0, kMaxReal);
  config.optimizer.sgd_momentum = options.real("sgd-momentum", 0, 1);
  config.early_epochs = options.real("early-epochs", 0, kMaxReal);
  config.learning_rate = options.real("lr", 0, kMaxReal);
  if (config.optimizer.name == "muon" && config.learning_rate == 0) {
    options.add_fault("--optimizer muon needs a --lr above 0");
  }
  config.lr_reference_batch = options.real("lr-reference-batch", 0, kMaxReal);
  config.schedule.name = options.choice("schedule");
  config.schedule.warmup_epochs = options.real("warmup-epochs", 0, kMaxReal);
  config.schedule.step_epochs = options.real("step-epochs", 1e-6, kMaxReal);
  config.schedule.step_gamma = options.real("step-gamma", 0, 1);
  config.sums_loss = options.choice("loss") == "sum";
  config.label_smoothing = options.real("label-smoothing", 0, 0.999999);
  config.clip_norm = options.real("clip-norm", 0, kMaxReal);
}

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

void read_device(Options& options, TrainRequest& request) {
  request.device = read_device_options(options);
  device::DeviceRequest& device = request.device.request;
  read_share_weights(options, device, request.config);
  if (request.config.virtual_ranks == 0) return;
  refuse_gpus(options, device, "--virtual-ranks");
  device.device = device::DeviceKind::kCpu;  // the sums of CPUs are the same on every host
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
  const std::string option = "--grad-dtype " + options.text("grad-dtype");
  if (config.bfloat16_gradients) require_bfloat16_sums(options, config.all_reduce);
  if (config.virtual_ranks > 0) {
    options.add_fault(
        option +
        " and --virtual-ranks exclude each other: what a rank has not sent depends on "
        "its earlier steps, so bits would depend on the number of ranks");
  }
  if (config.precision == model::Precision::kFp16) {
    options.add_fault(option +
                      " and --precision fp16 exclude each other: the loss scale changes, and the "
                      "errors that a rank keeps do not; give --precision bf16");
  }
}

void refuse_other_bits(Options& options) {
  for (const OptionSpec& spec : options.table()) {
    const OtherBits& other = spec.other_bits;
    if (other.value.empty() || options.text(spec.name) != other.value) continue;
    options.add_fault("--deterministic and --" + spec.name + " " + other.value +
                      " exclude each other: " + other.reason);
  }
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

std::uint64_t read_eval_batch_size(Options& options) {
  return options.count("eval-batch-size", 1, kMaxImages);
}

TrainRequest read_train_options(Options& options) {
  TrainRequest request;
  train::TrainConfig& config = request.config;
  for (const OptionSpec& spec : options.table()) {
    const std::string value = options.text(spec.name);
    if (value.empty() && options.value(spec.name).origin != Origin::kDefault) {
      options.add_fault("--" + spec.name + " is empty; leave it out, or give a value", spec.name);
    }
    if (value != trim(value) || value.find_first_of("#\n") != std::string::npos) {
      options.add_fault("--" + spec.name + ": '" + value +
                        "' has a '#', a line break or a blank at an end, which config.ini cannot "
                        "keep; rename it");
    }
  }
  options.require("data");
  config.data = options.text("data");
  read_network_options(options, config);
  config.seed = options.count("seed", 0, std::uint64_t{1} << 62);
  config.validation_split = options.real("validation-split", 0, 0.999999);
  config.augment = options.parsed("augment", data::AugmentSpec::parse);
  config.decoding = read_decoding(options);
  config.eval_fit = read_eval_crop(options);
  config.loader_threads = read_loader_threads(options);
  config.epochs = options.real("epochs", 1e-6, 1e6);
  config.max_steps = options.count("max-steps", 0, std::uint64_t{1} << 40);
  read_batch(options, config);
  read_reading_options(options, config.reading);
  if (options.flag("plan")) config.reading.stage.clear();  // a few steps are not worth a copy
  read_optimizer(options, config);
  read_recipe_options(options, config);
  config.precision = model::parse_precision(options.choice("precision"));
  config.convolution = model::parse_convolution(options.choice("convolution"));
  read_device(options, request);
  config.threads = static_cast<int>(options.count("threads", 0, 1024));
  config.measure_bucket = options.text("bucket-mb") == "auto";
  if (options.is_set("bucket-mb") && !config.measure_bucket) {
    config.bucket_mb = options.parsed("bucket-mb", [](const std::string& text) {
      try {
        return parse_real(text, 0, train::kMaxBucketMb, "--bucket-mb");
      } catch (const UsageError& error) {
        throw UsageError(std::string(error.what()) + " (0: one bucket), nor auto");
      }
    });
  }
  read_sync_bn(options, request.device.request, config);
  read_gradient_sums(options, config);
  config.deterministic = options.flag("deterministic");
  if (config.deterministic) refuse_other_bits(options);
  config.eval_every = options.count("eval-every", 0, std::uint64_t{1} << 40);
  config.eval_batch_size = read_eval_batch_size(options);
  config.log_every = options.count("log-every", 0, std::uint64_t{1} << 40);
  read_reporting(options, request.reporting);
  request.reporting.plan_target = read_plan_target(options, config);
  read_checkpoint_policy(options, request.checkpoint_policy);
  options.throw_faults("train");
  return request;
}

std::map<std::string, std::string> options_of_ini(const Options& options) {
  std::map<std::string, std::string> kept;
  for (const OptionSpec& spec : options.table()) {
    const bool superseded =
        spec.name == (is_global_batch_stronger(options) ? "batch-size" : "global-batch-size");
    const std::string& value = options.value(spec.name).text;
    const bool is_left_out = spec.traits.config_file == ConfigFile::kLeftOut;
    if (!value.empty() && !is_left_out && !superseded) kept[spec.name] = value;
  }
  return kept;
}

std::string to_ini(const Options& options, const std::string& heading) {
  const std::map<std::string, std::string> kept = options_of_ini(options);
  std::string text = "# " + join(split(heading, '\n'), "\n# ") + "\n";
  for (const OptionSpec& spec : options.table()) {
    const auto found = kept.find(spec.name);
    if (found != kept.end()) text += spec.name + " = " + found->second + "\n";
  }
  return text;
}

}  // namespace tandem::app
