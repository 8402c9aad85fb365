// Exact loss and accuracy, or mean average precision, over a split, on any number of ranks. One
// thread at a time. Throws InternalError on rank 0 if an image was not used exactly once.
//
// The split is cut into batches of consecutive images. One rank sums the loss of a batch, and rank
// 0 adds the batches in order, so the result does not depend on the number of ranks. Another batch
// size may change the last digits of the loss. A GPU normalizes, sums and compares, and the host
// reads back the results of many batches at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/top_losses.hpp"

namespace tandem::train {

// With more classes, only the right answers of each class are counted.
constexpr std::size_t kMaxConfusionClasses = 1000;

struct Evaluation {
  double loss = 0;  // mean
  double accuracy = 0;
  std::int64_t correct = 0;
  std::int64_t images = 0;
  std::optional<double> views_accuracy;  // with test-time augmentation, if requested
  std::optional<double> top5_accuracy;   // with six classes or more
  // Only for a multi-label set, in place of accuracies and correct answers.
  std::optional<double> mean_average_precision;
  std::vector<double> class_precision;      // average precision by class; NaN without positives
  std::vector<std::int64_t> class_images;   // by label; for a multi-label set those that have it
  std::vector<std::int64_t> class_correct;  // by label
  // Images by label * classes + prediction; empty above kMaxConfusionClasses.
  std::vector<std::int64_t> confusion;
  std::vector<ImageLoss> worst;  // as many as were asked for, worst first
  std::uint64_t step = 0;        // after which the trainer had it made
  double seconds = 0;
  bool completed = false;  // on every rank; false: given up, nothing else is set

  // The value that ranks evaluations.
  double score() const { return mean_average_precision.value_or(accuracy); }
};

struct EvaluationSettings {
  data::Transform transform;
  model::Precision precision;
  std::size_t classes;
  torch::Device device = torch::kCPU;  // the network's
  // Called before each batch, with the seconds that the previous one took on this rank. Also called
  // with 0 while images are copied to the device; then the result has no effect. May be empty, on
  // all ranks alike.
  std::function<bool(double seconds)> is_interrupted = nullptr;
  // Not for multi-label sets: the number of images with the highest losses to return, and
  // test-time augmentation, six times the work.
  std::size_t worst = 0;
  bool views = false;
  std::uint64_t batch_size = data::EvaluationSampler::kBatch;
  int loader_threads = 1;  // of a rank, where the host makes the images
  // Called before each batch with the number of images that all ranks have done, and of all images.
  // May be empty.
  std::function<void(std::uint64_t done, std::uint64_t images)> on_progress = nullptr;
  // With them the device normalizes, as is good on a GPU; without, the CPU does by `transform`.
  PixelMoments moments = {};
  std::uint64_t resident_bytes = 0;  // then: a split of more bytes is streamed to the device
  // The split on the device, from an earlier evaluation; otherwise copied for this one.
  std::shared_ptr<const ResidentImages> resident = nullptr;
};

// The split in the device's memory, if the device normalizes and has room; otherwise null.
std::shared_ptr<const ResidentImages> resident_images_of(const data::ImagesView& images,
                                                         const EvaluationSettings& settings);

// Collective. Broadcasts rank 0's buffers first and leaves the network in evaluation mode. Complete
// on rank 0 alone. If one rank is interrupted, all stop before their next batch.
Evaluation evaluate(comm::Communicator& comm, model::Network& network,
                    const data::ImagesView& images, const EvaluationSettings& settings);

// The evaluations of a training run. Communicator, network, images and optimizer must outlive it.
class Evaluator {
 public:
  // `held_out`: empty if no images are held out of training. `settings.views` affects only the last
  // evaluation of the test images. `optimizer`: one whose averages are evaluated, if it keeps any.
  Evaluator(comm::Communicator& comm, model::Network& network, const data::ImagesView& test,
            const data::ImagesView& held_out, EvaluationSettings settings,
            Optimizer* optimizer = nullptr);
  virtual ~Evaluator() = default;

  bool holds_out() const { return !held_out_.labels.empty(); }
  bool has_views() const { return settings_.views; }
  // Collective, as evaluate(). `last`: no step follows.
  virtual Evaluation of_test_images(bool last);
  virtual Evaluation of_held_out();

 private:
  Evaluation evaluate_split(const data::ImagesView& images, bool views,
                            std::shared_ptr<const ResidentImages>& resident);

  comm::Communicator& comm_;
  model::Network& network_;
  const data::ImagesView test_;
  const data::ImagesView held_out_;
  const EvaluationSettings settings_;
  Optimizer* const optimizer_;
  std::shared_ptr<const ResidentImages> resident_test_, resident_held_out_;  // may be null
};

}  // namespace tandem::train
