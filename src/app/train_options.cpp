#include "tandem/app/train_options.hpp"

#include <algorithm>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_folder.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMostImages = std::uint64_t{1} << 31;
constexpr double kHuge = 1e9;
constexpr double kSoonest = 0.01;  // seconds between two looks at the machine

bool is_global_batch_stronger(const Options& options) {
  return options.is_set("global-batch-size") &&
         (!options.is_set("batch-size") ||
          options.value("global-batch-size").origin > options.value("batch-size").origin);
}

void read_network(Options& options, train::TrainConfig& config) {
  const std::string asked = options.text("model");
  const bool is_file = model::is_script_file(asked);
  config.model = is_file ? asked : options.choice("model");
  // Code from elsewhere may take a tensor's rows for granted, as x.view(n, -1) does.
  if (is_file && options.value("channels-last").origin == Origin::kDefault) {
    options.settle("channels-last", "false");
  }
  config.channels_last = options.flag("channels-last");
  config.init_from = options.text("init-from");
  if (ends_with(config.init_from, ".pth") || ends_with(config.init_from, ".pt")) {
    options.add_fault("--init-from: '" + config.init_from +
                      "' is a pickle, which can run code and is not read; convert it by "
                      "python/to_safetensors.py " +
                      config.init_from + " --model " + asked + " --output FILE.safetensors");
  }
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
    config.global_batch_size = options.count("global-batch-size", 1, kMostImages);
  } else {
    config.batch_size = options.count("batch-size", 1, kMostImages);
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
  config.optimizer.weight_decay = options.real("weight-decay", 0, kHuge);
  config.optimizer.beta1 = options.real("beta1", 0, 0.999999);
  config.optimizer.beta2 = options.real("beta2", 0, 0.999999);
  config.optimizer.epsilon = options.real("epsilon", 0, 1);
  if (config.optimizer.nesterov && config.optimizer.momentum == 0) {
    options.add_fault("--nesterov needs a --momentum above 0");
  }
  config.learning_rate = options.real("lr", 0, kHuge);
  config.lr_reference_batch = options.real("lr-reference-batch", 0, kHuge);
  config.schedule.name = options.choice("schedule");
  config.schedule.warmup_epochs = options.real("warmup-epochs", 0, kHuge);
  config.schedule.step_epochs = options.real("step-epochs", 1e-6, kHuge);
  config.schedule.step_gamma = options.real("step-gamma", 0, 1);
  config.label_smoothing = options.real("label-smoothing", 0, 0.999999);
  config.clip_norm = options.real("clip-norm", 0, kHuge);
}

void read_reporting(Options& options, TrainReporting& reporting) {
  reporting.run_id = options.text("run-id");
  if (!reporting.run_id.empty()) {
    options.parsed("run-id", [](const std::string& id) {
      metrics::check_run_id(id);
      return 0;
    });
  }
  reporting.runs_dir = options.text("runs-dir");
  reporting.resume = options.text("resume");
  reporting.quiet = options.flag("quiet");
  reporting.progress = options.flag("progress");
  reporting.log_ranks = options.parsed("log-ranks", RankChoice::parse);
  reporting.json = options.flag("json");
  reporting.print_config = options.flag("print-config");
  if (options.is_set("profile")) {
    reporting.profile = options.parsed("profile", train::StepRange::parse);
  }
  reporting.histograms_every = options.count("histograms-every", 0, std::uint64_t{1} << 40);
  reporting.system_interval_seconds = options.real("system-interval", 0, kHuge);
  if (reporting.system_interval_seconds > 0 && reporting.system_interval_seconds < kSoonest) {
    options.add_fault("--system-interval: " + options.text("system-interval") +
                      " seconds would keep a CPU busy; give " + format_real(kSoonest) +
                      " or more, or 0 for never");
  }
}

// "HH:MM:SS", "MM:SS" or seconds.
double parse_time(const std::string& text) {
  constexpr std::int64_t kMostHours = 100'000;
  double seconds = 0;
  const std::vector<std::string> parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t highest = i == 0 ? kMostHours : 59;
    const std::string what = "--max-time: '" + text + "' is not HH:MM:SS, MM:SS or seconds;";
    seconds = seconds * 60 + static_cast<double>(parse_integer(parts[i], 0, highest, what));
  }
  if (parts.size() > 3 || seconds == 0) {
    throw UsageError("--max-time: '" + text + "' is not HH:MM:SS, MM:SS or seconds, above 0");
  }
  return seconds;
}

void read_safekeeping(Options& options, Safekeeping& safekeeping) {
  safekeeping.checkpoint_every =
      options.parsed("checkpoint-every", train::CheckpointInterval::parse);
  safekeeping.keep.last = options.count("keep-checkpoints", 1, 1'000'000);
  safekeeping.keep.every = options.count("keep-every", 0, std::uint64_t{1} << 40);
  safekeeping.save_best = options.flag("save-best");
  safekeeping.drift_check_every = options.count("drift-check-every", 0, std::uint64_t{1} << 40);
  safekeeping.skip_nonfinite = options.choice("on-nonfinite") == "skip";
  safekeeping.stall_warn_seconds = options.real("stall-warn", 0, kHuge);
  safekeeping.stall_abort_seconds = options.real("stall-abort", 0, kHuge);
  const double margin = options.real("stop-margin", 0, kHuge);
  if (!options.is_set("max-time")) return;
  const double most = options.parsed("max-time", parse_time);
  safekeeping.stop_after_seconds = most - margin;
  if (most > 0 && most <= margin) {
    options.add_fault("--max-time: leaves nothing after the --stop-margin of " +
                      format_real(margin) + " seconds; give more time, or a smaller margin");
  }
}

// The tree of --virtual-ranks adds on CPUs, whose sums are the same on every host.
void keep_to_cpus(Options& options, comm::DeviceRequest& request) {
  const bool wants_gpus = request.device == comm::DeviceKind::kCuda || !request.gpu_ids.empty() ||
                          request.share_gpu || request.backend == comm::Backend::kNccl;
  if (wants_gpus) {
    options.add_fault(
        "--virtual-ranks computes on CPUs; leave it out, or --device cuda, --gpu-ids, --share-gpu "
        "and --backend nccl");
  }
  request.device = comm::DeviceKind::kCpu;
}

}  // namespace

OptionSpec precision_option() {
  return {"precision", "NAME",
          "fp32",      "fp32, or bf16 or (GPUs) fp16 autocast with fp32 weights",
          "execution", model::precision_names()};
}

OptionSpec channels_last_option() {
  return {"channels-last", "", "true", "keep images and filters as height, width, channels",
          "execution"};
}

OptionSpec threads_option() {
  return {"threads", "N", "0", "per rank; 0: OMP_NUM_THREADS, else the CPUs it may use alone",
          "execution"};
}

OptionTable train_option_table() {
  const std::string models =
      join(model::network_names(), ", ") + ", or a TorchScript file that Python exported";
  const std::vector<std::string> optimizers{"sgd", "adamw"};
  const std::vector<std::string> schedules{"constant", "step", "cosine", "triangle"};
  return {
      {"data", "FILE.h5", "", "packed data set, made by tandem pack", "what to train"},
      {"recipe", "NAME|FILE", "", "a set of defaults: mnist-lenet, cifar10-simple, …",
       "what to train"},
      {"config", "FILE", "", "options from a file of name = value lines", "what to train"},
      {"model", "NAME|FILE.pt", "simple", models, "what to train", model::network_names()},
      {"init-from", "FILE", "",
       "start from the weights of a checkpoint or another .safetensors, for fine-tuning",
       "what to train"},
      {"seed", "N", "1", "of initial weights, order and augmentation", "what to train"},
      {"augment", "SPEC", "none", "none, standard (crop=4,flip), or a list of crop=N and flip",
       "what to train"},

      {"batch-size", "N", "64", "images per rank and step", "batch"},
      {"global-batch-size", "N", "", "images per step over all ranks, instead of the above",
       "batch"},
      {"accumulate", "N", "1", "micro-batches per rank and step", "batch"},
      {"virtual-ranks", "V", "0",
       "cut each global batch into V shards and sum them so that the result does not depend on the "
       "number of ranks, bit for bit at the same --threads (then 1 unless given); a power of two; "
       "0: off",
       "batch"},
      {"drop-last", "", "false", "leave out the short last batch of an epoch", "batch"},

      {"epochs", "X", "10", "how long to train; may be a fraction", "duration"},
      {"max-steps", "N", "0", "end after N steps; 0: no limit", "duration"},
      {"max-time", "HH:MM:SS", "", "stop, resumable, before this much time has passed", "duration"},
      {"stop-margin", "S", "30", "seconds that --max-time leaves for the last step and checkpoint",
       "duration"},

      {"optimizer", "NAME", "sgd", join(optimizers, ", "), "optimizer", optimizers},
      {"lr", "X", "0.05", "peak learning rate", "optimizer"},
      {"lr-reference-batch", "N", "0",
       "scale the learning rate by global batch / N; 0: take it as it is", "optimizer"},
      {"momentum", "X", "0.9", "of sgd", "optimizer"},
      {"nesterov", "", "false", "Nesterov momentum, of sgd", "optimizer"},
      {"weight-decay", "X", "0", "of all parameters", "optimizer"},
      {"beta1", "X", "0.9", "of adamw", "optimizer"},
      {"beta2", "X", "0.999", "of adamw", "optimizer"},
      {"epsilon", "X", "1e-8", "of adamw", "optimizer"},
      {"schedule", "NAME", "constant", join(schedules, ", "), "optimizer", schedules},
      {"warmup-epochs", "X", "0", "linear rise of the learning rate; triangle: up to its peak",
       "optimizer"},
      {"step-epochs", "X", "30", "schedule step: epochs between two drops", "optimizer"},
      {"step-gamma", "X", "0.1", "schedule step: factor of a drop", "optimizer"},
      {"label-smoothing", "X", "0", "share of a label given to all classes alike", "optimizer"},
      {"clip-norm", "X", "0", "limit of the global gradient norm; 0: none", "optimizer"},

      precision_option(),
      channels_last_option(),
      device_option(),
      gpu_ids_option(),
      share_gpu_option(),
      backend_option(),
      init_timeout_option(),
      threads_option(),
      {"bucket-mb", "X|auto", "",
       "gradient bucket in MB; 0: one bucket, exchanged after backward; auto: measured at the "
       "start; if not given: 2 over NCCL, else 0",
       "execution"},

      {"resume", "MODE", "none",
       "none; auto: go on from the run's newest valid checkpoint; or the path of a checkpoint",
       "safekeeping"},
      {"checkpoint-every", "N[UNIT]", "1epochs",
       "UNIT is steps (where left out), epochs, s or m; 0: at a stop and at the end only",
       "safekeeping"},
      {"keep-checkpoints", "K", "3", "newest checkpoints that are kept", "safekeeping"},
      {"keep-every", "N", "0", "also keep checkpoints of steps divisible by N; 0: none",
       "safekeeping"},
      {"save-best", "", "false", "keep the best evaluation's state as best.safetensors",
       "safekeeping"},
      {"drift-check-every", "N", "0",
       "steps between comparisons of all ranks' weights; 0: at checkpoints only", "safekeeping"},
      {"on-nonfinite",
       "MODE",
       "abort",
       "abort, or skip: leave out an update whose loss or gradient is not finite",
       "safekeeping",
       {"abort", "skip"}},
      {"stall-warn", "S", "60", "warn of a rank that has not advanced for S seconds; 0: never",
       "safekeeping"},
      {"stall-abort", "S", "600", "end the job (124) when it has not for S seconds; 0: never",
       "safekeeping"},

      {"run-id", "ID", "", "name of the run's folder; made from the time where not given",
       "reporting"},
      {"runs-dir", "DIR", "runs", "where run folders are", "reporting"},
      {"eval-every", "N", "1", "epochs between evaluations; 0: never", "reporting"},
      {"log-every", "N", "10", "steps between lines of metrics.jsonl and of progress; 0: never",
       "reporting"},
      {"profile", "STEPS", "",
       "write a Chrome trace per rank of a step, or of those from one to another, such as 6-10",
       "reporting"},
      {"histograms-every", "N", "0",
       "epochs between histograms of the weights for TensorBoard; 0: never", "reporting"},
      {"system-interval", "S", "1",
       "seconds between samples of CPU, memory and GPU for ranks/*.jsonl; 0: never", "reporting"},
      {"log-ranks", "0|all|LIST", "0",
       "ranks such as 0,2,4-7 that get a line of their own at each --log-every; 0: rank 0 speaks "
       "for all",
       "reporting"},
      {"progress", "", "true", "a line redrawn on a terminal; in a log one every ten seconds",
       "reporting"},
      {"quiet", "", "false", "warnings and errors only", "reporting"},
      {"json", "", "false", "summary.json as the last line on standard output", "reporting"},
      {"print-config", "", "false", "print every value and where it came from, and stop",
       "reporting"},
  };
}

TrainRequest read_train_options(Options& options) {
  TrainRequest request;
  train::TrainConfig& config = request.config;
  for (const OptionSpec& spec : options.table()) {
    const std::string value = options.text(spec.name);
    if (value.empty() && options.value(spec.name).origin != Origin::kDefault) {
      options.add_fault("--" + spec.name + " is empty; leave it out, or give a value");
    }
    if (value != trim(value) || value.find_first_of("#\n") != std::string::npos) {
      options.add_fault("--" + spec.name + ": '" + value +
                        "' has a '#', a line break or a blank at an end, which config.ini cannot "
                        "keep; rename it");
    }
  }
  options.require("data");
  config.data = options.text("data");
  read_network(options, config);
  config.seed = options.count("seed", 0, std::uint64_t{1} << 62);
  config.augment = options.parsed("augment", data::AugmentSpec::parse);
  config.epochs = options.real("epochs", 1e-6, 1e6);
  config.max_steps = options.count("max-steps", 0, std::uint64_t{1} << 40);
  read_batch(options, config);
  read_optimizer(options, config);
  config.precision = model::parse_precision(options.choice("precision"));
  request.device = read_device_options(options);
  if (config.virtual_ranks > 0) keep_to_cpus(options, request.device.request);
  config.threads = static_cast<int>(options.count("threads", 0, 1024));
  config.measure_bucket = options.text("bucket-mb") == "auto";
  if (options.is_set("bucket-mb") && !config.measure_bucket) {
    config.bucket_mb = options.parsed("bucket-mb", [](const std::string& text) {
      try {
        return parse_real(text, 0, train::kLargestBucketMb, "--bucket-mb");
      } catch (const UsageError& error) {
        throw UsageError(std::string(error.what()) + " (0: one bucket), nor auto");
      }
    });
  }
  config.eval_every = options.count("eval-every", 0, std::uint64_t{1} << 40);
  config.log_every = options.count("log-every", 0, std::uint64_t{1} << 40);
  read_reporting(options, request.reporting);
  read_safekeeping(options, request.safekeeping);
  options.throw_faults("train");
  return request;
}

std::string to_ini(const Options& options) {
  const std::vector<std::string> left_out{"run-id", "config", "recipe", "resume", "print-config"};
  std::string text = "# tandem train --config of this file repeats the run.\n";
  for (const OptionSpec& spec : options.table()) {
    const bool superseded =
        spec.name == (is_global_batch_stronger(options) ? "batch-size" : "global-batch-size");
    const std::string& value = options.value(spec.name).text;
    const bool named = std::find(left_out.begin(), left_out.end(), spec.name) != left_out.end();
    if (!value.empty() && !named && !superseded) text += spec.name + " = " + value + "\n";
  }
  return text;
}

}  // namespace tandem::app
