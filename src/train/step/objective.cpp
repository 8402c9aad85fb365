#include "tandem/train/objective.hpp"

#include <algorithm>

#include "tandem/core/digest.hpp"

namespace tandem::train {

void Totals::add(const Totals& other) {
  loss += other.loss;
  correct += other.correct;
  images += other.images;
  counted_images += other.counted_images;
  id_hash += other.id_hash;
}

torch::Tensor summed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                                   double label_smoothing, const torch::Tensor& class_weights) {
  return at::cross_entropy_loss(logits.to(torch::kFloat32), labels, class_weights,
                                at::Reduction::Sum, -100, label_smoothing);
}

torch::Tensor summed_mixed_cross_entropy(const torch::Tensor& logits, const MixedLabels& mixed,
                                         double label_smoothing) {
  const torch::Tensor likelihoods = logits.to(torch::kFloat32).log_softmax(1);
  const auto of = [&likelihoods](const torch::Tensor& labels) {
    return likelihoods.gather(1, labels.unsqueeze(1)).squeeze(1);
  };
  const torch::Tensor of_labels =
      of(mixed.labels) * (1 - mixed.other_shares) + of(mixed.other_labels) * mixed.other_shares;
  torch::Tensor sharp = of_labels.sum() * (label_smoothing - 1);
  if (label_smoothing == 0) return sharp;
  return sharp - likelihoods.sum() * (label_smoothing / static_cast<double>(logits.size(1)));
}

torch::Tensor summed_binary_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                          double label_smoothing,
                                          const torch::Tensor& positive_weights) {
  const torch::Tensor smoothed =
      label_smoothing == 0 ? targets : targets * (1 - label_smoothing) + label_smoothing / 2;
  return at::binary_cross_entropy_with_logits(logits.to(torch::kFloat32), smoothed, {},
                                              positive_weights, at::Reduction::Sum) /
         static_cast<double>(logits.size(1));
}

torch::Tensor image_cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return at::cross_entropy_loss(logits.to(torch::kFloat32), labels, {}, at::Reduction::None, -100,
                                0.0);
}

torch::Tensor count_in_top(const torch::Tensor& logits, const torch::Tensor& labels) {
  const torch::Tensor rows = logits.detach().to(torch::kFloat32);
  const torch::Tensor column = labels.unsqueeze(1);
  const torch::Tensor own = rows.gather(1, column);
  const torch::Tensor classes = torch::arange(rows.size(1), labels.options()).unsqueeze(0);
  // NaN is not less than or equal to anything.
  const torch::Tensor is_before =
      rows.le(own).logical_not().logical_or(rows.eq(own).logical_and(classes < column));
  return (is_before.sum(1) < kTop).sum();
}

std::vector<std::int64_t> predicted_classes(const torch::Tensor& logits) {
  const torch::Tensor rows = logits.detach().to(torch::kFloat32).contiguous();
  const std::int64_t classes = rows.size(1);
  const float* row = rows.data_ptr<float>();
  std::vector<std::int64_t> predicted(static_cast<std::size_t>(rows.size(0)));
  for (std::int64_t& each : predicted) {
    each = std::max_element(row, row + classes) - row;
    row += classes;
  }
  return predicted;
}

std::uint64_t id_hash_of(const data::BatchRequest& request) {
  std::uint64_t sum = 0;
  for (const std::uint32_t image : request.images) sum += image_id_hash(image);
  return sum;
}

}  // namespace tandem::train
