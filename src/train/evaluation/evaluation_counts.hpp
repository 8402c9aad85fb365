// The counts of an evaluation on each rank. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "average_precision.hpp"
#include "tandem/comm/communicator.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/top_losses.hpp"

namespace tandem::train {

// What the network answered to the images of a batch.
struct Answers {
  data::BatchRequest request;
  double loss = 0;           // sum
  std::int64_t in_top5 = 0;  // labels
  std::vector<std::int64_t> predicted;
  std::vector<double> image_losses;    // empty unless the worst are wanted
  std::vector<std::int64_t> of_views;  // predicted with test-time augmentation; or empty
  std::vector<double> logits;          // [images, classes] of a multi-label set; else empty
};

// Of Counts::correct.
enum CorrectBy : std::size_t { kBySeveralViews, kInTop5, kCorrectKinds };

// The counts of each rank, arranged for one reduction each.
struct Counts {
  std::vector<double> batch_loss;  // by batch: written by one rank, zero on the others
  std::size_t classes;
  bool multi_label;
  // By label * classes + prediction, or empty; then by label: images, and right answers.
  std::vector<std::int64_t> confusion;
  std::vector<std::int64_t> class_images, class_correct;
  std::vector<std::uint64_t> accounting{0, 0};  // images, hash of their ids
  std::vector<std::int64_t> correct = std::vector<std::int64_t>(kCorrectKinds);
  TopLosses worst;
  ScoreTable scores;  // of a multi-label set

  Counts(std::size_t batches, const EvaluationSettings& settings, bool multi_label);

  // Answers of the host.
  void add(const Answers& answers, const data::ImagesView& images);
  // Collective; the sums are on rank 0.
  void reduce(comm::Communicator& comm);
  // Of the sums. Throws InternalError.
  void require_exactly_once(std::uint64_t image_count) const;
  // Of the sums, without average precisions and the worst images. Takes the counts by class.
  Evaluation result(const EvaluationSettings& settings, std::size_t image_count);

 private:
  void add_scores(const Answers& answers, const data::ImagesView& images);
  void add_classes(const Answers& answers, const data::ImagesView& images);
};

}  // namespace tandem::train
