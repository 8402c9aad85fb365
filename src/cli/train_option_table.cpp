// Every option of `tandem train`, in the order of its help.
#include "loader_options.hpp"
#include "network_options.hpp"
#include "recipe_options.hpp"
#include "stall_options.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/precision.hpp"
#include "train_options.hpp"

namespace tandem::app {

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

OptionTable train_option_table() {
  const std::vector<std::string> optimizers{"sgd", "adamw", "muon", "lars", "lamb"};
  const OptionTable stall = stall_options("safekeeping");
  const std::vector<std::string> schedules{"constant", "step",       "cosine",
                                           "linear",   "polynomial", "triangle"};
  return {
      {"data", "FILE.h5", "", "packed data set, made by tandem pack", "what to train", kOfInput},
      {"recipe", "NAME|FILE", "", "a set of defaults, such as mnist-lenet or cifar10-simple",
       "what to train", kOfThisStart},
      {"config", "FILE", "", "options from a file of name = value lines", "what to train",
       kOfThisStart},
      model_option("what to train"),
      hidden_option("what to train"),
      stem_option("what to train"),
      init_from_option("what to train"),
      freeze_option("what to train"),
      {"seed", "N", "1", "random seed of initialization, order and augmentation", "what to train",
       kOfResult},
      {"validation-split", "X", "0",
       "share of the training images to hold out, the same in every run; evaluations use them, and "
       "the test images only at the end",
       "what to train", kOfResult},
      {"deterministic", "", "false",
       "refuse options that may give other bits in another run or after a restart", "what to train",
       kOfExecution},
      {"augment", "SPEC", "none",
       "none, standard (crop=4,flip), or a list of crop=N, reflect=N or resized-crop[=S,R]; flip "
       "or alternate-flip; color-jitter=B,C,S,H; rand-augment[=N,M] or trivial-augment; "
       "random-erasing[=P]; mixup[=A]; cutmix[=A]",
       "what to train", kOfResult},
      decode_option("what to train"),
      eval_crop_option("what to train"),
      {"batch-size",
       "N",
       "64",
       "images per rank and step",
       "batch",
       kOfPlacement,
       {},
       {},
       {"replica-batch-size"}},
      {"global-batch-size", "N", "", "images per step over all ranks, in place of --batch-size",
       "batch", kOfInput},
      {"accumulate", "N", "1", "micro-batches per rank and step", "batch", kOfExecution},
      {"virtual-ranks", "V", "0",
       "cut each global batch into V shards and sum them so that the result does not depend on the "
       "number of ranks, bit for bit at the same --threads (then 1 unless given); a power of two; "
       "0: off",
       "batch", kOfResult},
      {"drop-last", "", "false", "leave out the short last batch of an epoch", "batch", kOfResult},
      cache_option("batch"),
      read_lanes_option("batch"),
      shuffle_option("batch"),
      stage_option("batch"),

      {"epochs", "X", "10", "length of the training; may be a fraction", "duration", kOfExecution},
      {"max-steps", "N", "0", "end after N steps; 0: no limit", "duration", kOfExecution},
      early_stop_option("duration"),
      {"max-time", "HH:MM:SS", "", "stop, resumable, before this much time has passed", "duration",
       kOfExecution},
      {"stop-margin", "S", "30", "seconds that --max-time leaves for the last step and checkpoint",
       "duration", kOfExecution},

      {"optimizer", "NAME", "sgd", join(optimizers, ", "), "optimizer", kOfResult, optimizers},
      {"lr", "X", "0.05", "peak learning rate", "optimizer", kOfResult},
      lr_scale_option("optimizer"),
      {"lr-reference-batch", "N", "0",
       "scale the learning rate by global batch / N; 0: do not scale", "optimizer", kOfResult},
      {"momentum", "X", "0.9", "momentum of sgd, muon and lars", "optimizer", kOfResult},
      {"nesterov", "", "false", "Nesterov momentum, of sgd, muon and lars", "optimizer", kOfResult},
      {"weight-decay", "X", "0",
       "weight decay; lars and lamb: only of parameters of more than one row", "optimizer",
       kOfResult},
      {"beta1", "X", "0.9", "adamw, lamb: decay rate of the mean gradient", "optimizer", kOfResult},
      {"beta2", "X", "0.999", "adamw, lamb: decay rate of the mean squared gradient", "optimizer",
       kOfResult},
      {"epsilon", "X", "1e-8", "adamw, lamb: addend of the denominator", "optimizer", kOfResult},
      trust_coefficient_option("optimizer"),
      {"head-lr", "X", "0.67", "muon: peak learning rate of the last layer, which sgd updates",
       "optimizer", kOfResult},
      {"bias-lr", "X", "0.053",
       "muon: peak learning rate of biases and norms, which sgd updates, too", "optimizer",
       kOfResult},
      {"sgd-momentum", "X", "0.85", "muon: Nesterov momentum of these sgd updates", "optimizer",
       kOfResult},
      {"early-epochs", "X", "0",
       "muon: epochs in which fastnet's whitening bias is trained, at a falling rate; 0: all",
       "optimizer", kOfResult},
      {"schedule", "NAME", "constant", join(schedules, ", "), "optimizer", kOfResult, schedules},
      {"warmup-epochs", "X", "0", "linear rise of the learning rate; triangle: up to its peak",
       "optimizer", kOfResult},
      {"step-epochs", "X", "30", "schedule step: epochs between two drops", "optimizer", kOfResult},
      {"step-gamma", "X", "0.1", "schedule step: factor of a drop", "optimizer", kOfResult},
      polynomial_power_option("optimizer"),
      {"loss",
       "mean|sum",
       "mean",
       "loss to minimize: the mean over the global batch, or the sum",
       "optimizer",
       kOfResult,
       {"mean", "sum"}},
      {"label-smoothing", "X", "0", "share of each label that is spread over all classes",
       "optimizer", kOfResult},
      class_weights_option("optimizer"),
      {"clip-norm", "X", "0", "limit of the global gradient norm; 0: none", "optimizer", kOfResult},
      ema_option("optimizer"),

      precision_option(),
      channels_last_option(),
      convolution_option(),
      gradient_checkpointing_option("execution"),
      sync_bn_option("execution"),
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
      loader_threads_option("execution"),
      eval_batch_size_option(),
      {"bucket-mb",
       "X|auto",
       "",
       "gradient bucket in MiB; 0: one bucket, exchanged after backward; auto: measured at the "
       "start; if not given: 2 over NCCL, else 0",
       "execution",
       kOfExecution,
       {},
       {"auto", "another run may measure another size, and sums round otherwise; give a number"}},
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
      {"powersgd-rank", "R", "4",
       "rank of the matrices of --grad-dtype powersgd; a higher one sends more and loses less",
       "execution", kOfExecution},
      share_weights_option(),

      {"resume", "MODE", "none",
       "none; auto: go on from the run's newest valid checkpoint; or the path of a checkpoint",
       "safekeeping", kOfThisStart},
      {"new-schedule", "", "false",
       "fit the schedule of a resumed run to its new duration; otherwise it keeps its length",
       "safekeeping", kOfThisStart},
      {"max-stuck-starts", "N", "0",
       "end with 70 if the last N starts all began at the step of this start, so no new checkpoint "
       "was saved; 0: no limit",
       "safekeeping", kOfThisStart},
      {"checkpoint-every", "LIST", "1epochs,10m",
       "intervals of checkpoints, in steps (no unit needed), epochs, s or m, such as 1epochs,10m; "
       "0: at a stop and at the end only",
       "safekeeping", kOfOutput},
      {"keep-checkpoints", "K", "3", "number of newest checkpoints to keep", "safekeeping",
       kOfOutput},
      {"keep-every", "N", "0", "also keep checkpoints of steps divisible by N; 0: none",
       "safekeeping", kOfOutput},
      {"save-best", "", "false", "keep the best evaluation's state as best.safetensors",
       "safekeeping", kOfOutput},
      {"drift-check-every", "N", "0",
       "steps between comparisons of all ranks' weights; 0: at checkpoints only", "safekeeping",
       kOfOutput},
      {"on-nonfinite",
       "MODE",
       "abort",
       "abort; or skip: leave out an update whose loss or gradient is not finite",
       "safekeeping",
       kOfOutput,
       {"abort", "skip"}},
      stall[0],
      stall[1],

      {"run-id", "ID", "", "name of the run's folder; by default made from the time", "reporting",
       kOfThisStart},
      {"runs-dir", "DIR", "runs", "folder that holds the run folders", "reporting", kOfOutput},
      {"eval-every", "N", "1", "epochs between evaluations; 0: never", "reporting", kOfOutput},
      {"log-every", "N", "10", "steps between lines of metrics.jsonl and of progress; 0: never",
       "reporting", kOfOutput},
      {"tta", "", "false", "test-time augmentation in the last evaluation, six times the work",
       "reporting", kOfOutput},
      {"profile", "STEPS", "",
       "write a Chrome trace per rank of a step, or of those from one to another, such as 6-10",
       "reporting", kOfOutput},
      {"histograms-every", "N", "0",
       "epochs between histograms of the weights for TensorBoard; 0: never", "reporting",
       kOfOutput},
      {"system-interval", "S", "1",
       "seconds between samples of CPU, memory, network and GPU for ranks/*.jsonl; 0: never",
       "reporting", kOfOutput},
      {"log-ranks", "0|all|LIST", "0",
       "ranks such as 0,2,4-7 that get a line of their own at each --log-every; 0: one line for "
       "all ranks",
       "reporting", kOfOutput},
      {"progress", "", "true",
       "show a line that is redrawn on a terminal; in a log, a line every ten seconds", "reporting",
       kOfOutput},
      {"quiet", "", "false", "print warnings and errors only", "reporting", kOfOutput},
      {"json", "", "false", "print summary.json as the last line on standard output", "reporting",
       kOfOutput},
      {"print-config", "", "false", "print every value and where it came from, and stop",
       "reporting", kOfThisStart},
      {"plan", "", "false",
       "print batches, bytes, memory and the time that a short measurement predicts, and stop",
       "reporting", kOfThisStart},
      {"hosts", "H", "", "number of hosts that --plan predicts for", "reporting", kOfThisStart},
      {"ranks-per-host", "P", "", "ranks of each host of --hosts", "reporting", kOfThisStart},
      {"link", "RATE[,LATENCY][,X:1]", "",
       "link of each host of --hosts, such as 25gbit or 25gbit,5us,2:1: rate, latency (20us if not "
       "given), oversubscription",
       "reporting", kOfThisStart},
  };
}

}  // namespace tandem::app
