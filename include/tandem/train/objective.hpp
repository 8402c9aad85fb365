// Loss and number of correct predictions of one batch. Throws what libtorch throws.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/data/batch_loader.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

// Sums that ranks add up; doubles and integers, so that a mean is the same at any number of ranks.
struct Totals {
  double loss = 0;           // summed over counted_images
  std::int64_t correct = 0;  // 0 of a multi-label set
  std::int64_t images = 0;
  std::int64_t counted_images = 0;  // without those of skipped steps
  std::uint64_t id_hash = 0;        // order-free fingerprint of the image ids (core/digest.hpp)

  void add(const Totals& other);
  // NaN if no image counts.
  double mean_loss() const { return loss / static_cast<double>(counted_images); }
};

// Cross entropy with label smoothing (Szegedy et al., arXiv 1512.00567, as
// torch.nn.functional.cross_entropy), summed over the batch; logits [N, classes] of any precision,
// computed in fp32. `class_weights`: float [classes], or undefined; as CrossEntropyLoss(weight).
torch::Tensor summed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                                   double label_smoothing, const torch::Tensor& class_weights = {});

// Two labels of each image, and the share of the second one.
struct MixedLabels {
  torch::Tensor labels;        // int64 [N]
  torch::Tensor other_labels;  // int64 [N]
  torch::Tensor other_shares;  // float [N], in [0, 1]
};
// The same for images with two labels: as torch.nn.functional.cross_entropy with the probabilities
// of the classes. It is the mean of the losses of both labels, weighted by their shares.
torch::Tensor summed_mixed_cross_entropy(const torch::Tensor& logits, const MixedLabels& mixed,
                                         double label_smoothing);

// Binary cross entropy of a multi-label set, as torch.nn.BCEWithLogitsLoss(pos_weight): for the
// logit x and the target y of a class with the positive weight w,
//   w y log(1 + exp(-x)) + (1 - y) log(1 + exp(x)),
// mean over the classes, summed over the images. logits [N, classes] of any precision, computed in
// fp32; targets float [N, classes] in [0, 1]; smoothing makes them (1 - s) y + s / 2, as Keras'
// BinaryCrossentropy. `positive_weights`: float [classes], or undefined: all are 1.
torch::Tensor summed_binary_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                          double label_smoothing,
                                          const torch::Tensor& positive_weights = {});

// The loss of each image, without smoothing: float [N].
torch::Tensor image_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels);

constexpr std::int64_t kTop = 5;           // of top-5 accuracy
constexpr std::size_t kClassesForTop = 6;  // with fewer classes it would always be 1
// Int64 []: how many labels are among the kTop largest logits of their row. logits [N, classes],
// labels int64 [N]. Of equal logits the lower class comes first. NaN comes before all numbers, and
// a label whose own logit is NaN counts as wrong.
torch::Tensor count_in_top(const torch::Tensor& logits, const torch::Tensor& labels);

// The class of each row of logits: the first of its largest entries.
std::vector<std::int64_t> predicted_classes(const torch::Tensor& logits);

std::uint64_t id_hash_of(const data::BatchRequest& request);

}  // namespace tandem::train
