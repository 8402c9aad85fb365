// Every option of `tandem train`, in the order of its help.
#include "execution_options.hpp"
#include "loader_options.hpp"
#include "network_options.hpp"
#include "optimizer_options.hpp"
#include "stall_options.hpp"
#include "train_options.hpp"

namespace tandem::app {
namespace {

OptionTable work_options() {
  return {
      {"data", "FILE.h5", "", "packed data set, made by tandem pack", "what to train", kOfInput},
      {"recipe", "NAME|FILE", "", "a set of defaults, such as mnist-lenet or cifar10-simple",
       "what to train", kOfThisStart},
      {"config", "FILE", "", "options from a file of name = value lines", "what to train",
       kOfThisStart},
      model_option(),
      hidden_option(),
      stem_option(),
      init_from_option(),
      freeze_option(),
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
      decode_option(),
      eval_crop_option(),
  };
}

OptionTable batch_options() {
  return {
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
      cache_option(),
      read_lanes_option(),
      shuffle_option(),
      stage_option(),
  };
}

OptionTable duration_options() {
  return {
      {"epochs", "X", "10", "length of the training; may be a fraction", "duration", kOfExecution},
      {"max-steps", "N", "0", "end after N steps; 0: no limit", "duration", kOfExecution},
      {"early-stop", "N", "0",
       "end after N evaluations in a row without a better accuracy, of the validation images if "
       "there are any; 0: never",
       "duration", kOfExecution},
      {"max-time", "HH:MM:SS", "", "stop, resumable, before this much time has passed", "duration",
       kOfExecution},
      only_with({"max-time", {}},
                {"stop-margin", "S", "30",
                 "seconds that --max-time leaves for the last step and checkpoint", "duration",
                 kOfExecution}),
  };
}

OptionTable safekeeping_options() {
  const OptionTable stall = stall_options("safekeeping");
  return {
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
  };
}

OptionTable reporting_options() {
  return {
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

}  // namespace

OptionTable train_option_table() {
  OptionTable table;
  for (const OptionTable& group :
       {work_options(), batch_options(), duration_options(), optimizer_options(),
        execution_options(), safekeeping_options(), reporting_options()}) {
    table.insert(table.end(), group.begin(), group.end());
  }
  return table;
}

}  // namespace tandem::app
