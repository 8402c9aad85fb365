// The validated configuration of a training run, and the batch arithmetic that follows from it.
// Throws UsageError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/model/convolution_choice.hpp"
#include "tandem/model/hidden_widths.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/model/stem.hpp"
#include "tandem/train/optimizer_options.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::train {

constexpr double kMebibyte = 1 << 20;  // the unit of bucket_mb
constexpr double kMaxBucketMb = 4096;
constexpr std::size_t bytes_of_bucket(double bucket_mb) {
  return static_cast<std::size_t>(bucket_mb * kMebibyte);
}

// How the picture files of a set are read.
struct ReadingOptions {
  std::uint64_t cache_bytes = 0;  // of a host; 0: chosen by the free memory
  std::uint64_t lanes = 64;       // 0: shuffled as a whole
  std::uint64_t shuffle_bytes = std::uint64_t{256} << 20;  // shuffle window of all lanes
  std::string stage = {};  // folder for a copy of the picture files on each host; empty: no copy
  // Shuffle a set in several files as a whole, as versions did before such sets had lanes.
  bool are_parts_whole = false;

  std::uint64_t lanes_of(const data::DatasetInfo& info) const {
    return are_parts_whole && info.is_in_parts() ? 0 : lanes;
  }
};

struct TrainConfig {
  std::string data;  // the packed data set
  ReadingOptions reading;
  std::string model = "simple";            // a name of the model registry, or a TorchScript file
  model::HiddenWidths hidden;              // of mlp
  model::Stem stem = model::Stem::kCifar;  // of resnet18, resnet34 and resnet50
  double validation_split = 0;             // share of the training images that is held out
  std::string init_from;               // a file with the initial weights; empty: drawn at random
  std::vector<std::string> frozen;     // patterns of parameters that are not trained
  std::vector<RateScale> rate_scales;  // learning rates of layers
  std::uint64_t batch_size = 64;  // images per rank and micro-batch; not used if the next is set
  std::uint64_t global_batch_size = 0;  // images per step over all ranks; 0: from batch_size
  bool drop_last = false;               // leave out an epoch's short last batch
  std::uint64_t accumulate = 1;         // micro-batches per rank and step
  std::uint64_t virtual_ranks = 0;      // shards that make the result independent of the ranks
  double epochs = 10;                   // may be fractional
  std::uint64_t max_steps = 0;          // 0: no limit
  OptimizerOptions optimizer;           // but for early_steps
  double early_epochs = 0;              // 0: all
  std::uint64_t early_stop = 0;         // evaluations without a better one; 0: no limit
  double learning_rate = 0.05;
  double lr_reference_batch = 0;  // the learning rate is meant for this global batch; 0: for any
  ScheduleOptions schedule;
  bool sums_loss = false;             // the gradient is that of the summed loss, not of its mean
  double label_smoothing = 0;         // in [0, 1)
  bool has_balanced_classes = false;  // each class counts as much as another
  std::vector<double> class_weights;  // in the loss; empty: all are 1, if not balanced
  double clip_norm = 0;               // global gradient norm; 0: no limit
  double ema = 0;                     // decay of the moving average of the weights; 0: none is kept
  model::Precision precision = model::Precision::kFp32;
  model::ConvolutionChoice convolution = model::ConvolutionChoice::kDirect;
  bool sync_bn = false;                 // batch normalization over the images of all ranks
  bool gradient_checkpointing = false;  // recompute blocks in backward
  data::AugmentSpec augment;
  data::Decoding decoding = data::Decoding::kExact;  // of picture files for training
  data::Fit eval_fit = data::Fit::kStretch;          // of picture files in evaluations
  int loader_threads = 1;                            // per rank
  bool channels_last = true;
  int threads = 0;              // per rank; 0: the CPUs this rank may use without crowding another
  double bucket_mb = 0;         // gradient bucket, 2^20 bytes; 0: one bucket
  bool measure_bucket = false;  // measure and take the fastest size in a new run
  comm::AllReduceAlgorithm all_reduce = comm::AllReduceAlgorithm::kFlat;
  bool deterministic = false;       // refuses what need not give the same bits
  bool bfloat16_gradients = false;  // exchanged as bfloat16; else as fp32
  std::uint64_t powersgd_rank = 0;  // gradients are compressed to this rank; 0: they are not
  bool share_weights = false;       // one copy of weights and optimizer state per host
  std::uint64_t seed = 1;
  std::uint64_t eval_every = 1;                                     // epochs; 0: never
  std::uint64_t eval_batch_size = data::EvaluationSampler::kBatch;  // images per rank
  std::uint64_t log_every = 10;                                     // steps; 0: never

  bool weighs_classes() const { return has_balanced_classes || !class_weights.empty(); }
  // Micro-batches of a global batch over all ranks.
  std::uint64_t micro_batches_per_step(std::uint64_t world) const;
};

// UsageError unless so many ranks, at least one, have equal numbers of --virtual-ranks' shards.
void require_even_shards(const TrainConfig& config, std::uint64_t ranks);

// The batch sizes and steps of a configuration for a data set and a number of ranks.
struct BatchArithmetic {
  std::uint64_t global_batch = 0;
  std::uint64_t steps_per_epoch = 0;
  std::uint64_t total_steps = 0;
  double learning_rate = 0;  // after scaling

  double epochs_of(std::uint64_t steps) const {
    return static_cast<double>(steps) / static_cast<double>(steps_per_epoch);
  }
  // `image_count` > 0, `world` >= 1. Throws UsageError if the ranks cannot share the work this way.
  static BatchArithmetic of(const TrainConfig& config, std::uint64_t image_count, int world);
  // "global batch 1024 = 256 x 4 ranks x accumulate 1; lr 0.4; 49 steps/epoch"
  std::string describe(const TrainConfig& config, int world) const;
};

data::TrainingPlan training_plan(const TrainConfig& config, const BatchArithmetic& arithmetic,
                                 std::uint64_t image_count);

}  // namespace tandem::train
