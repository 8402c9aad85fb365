#include "tandem/train/class_weights.hpp"

#include <algorithm>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {

namespace {

void require_one_for_each_class(const TrainConfig& config, std::size_t classes) {
  const std::size_t weights = config.class_weights.size();
  if (config.has_balanced_classes || weights == classes) return;
  throw UsageError("--class-weights: " + format_quantity(weights, "weight") + " for " +
                   format_count(static_cast<std::int64_t>(classes)) +
                   (classes == 1 ? " class" : " classes") +
                   "; give one weight for each class, in their order, or balanced");
}

}  // namespace

std::vector<double> weights_of_classes(const TrainConfig& config, const data::ImagesView& images,
                                       std::size_t classes) {
  require_one_for_each_class(config, classes);
  std::vector<double> weights = config.class_weights;
  std::vector<double> count(classes, 0);
  for (const auto label : images.labels) ++count.at(label);
  const auto all = static_cast<double>(images.labels.size());
  if (config.has_balanced_classes) {
    weights.assign(classes, 1);
    for (std::size_t i = 0; i < classes; ++i) {
      if (count[i] > 0) weights[i] = all / (static_cast<double>(classes) * count[i]);
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < classes; ++i) sum += weights[i] * count[i];
  for (double& weight : weights) weight *= all / sum;
  return weights;
}

std::vector<float> positive_weights_of(const TrainConfig& config, const data::ImagesView& images,
                                       std::size_t classes) {
  require_one_for_each_class(config, classes);
  if (!config.has_balanced_classes) {
    return {config.class_weights.begin(), config.class_weights.end()};
  }
  std::vector<double> count(classes, 0);
  for (std::size_t i = 0; i < images.targets.size(); ++i) count[i % classes] += images.targets[i];
  const auto all = static_cast<double>(images.labels.size());
  std::vector<float> weights(classes, 1);
  for (std::size_t i = 0; i < classes; ++i) {
    if (count[i] > 0 && count[i] < all) {
      weights[i] = static_cast<float>((all - count[i]) / count[i]);
    }
  }
  return weights;
}

ClassWeights::ClassWeights(const std::vector<double>& by_class, const data::ImagesView& images,
                           const data::TrainingPlan& plan, torch::Device device)
    : weights_(by_class.begin(), by_class.end()),
      by_class_(torch::tensor(weights_).to(device)),
      images_(images),
      plan_(plan) {
  plan_.accumulate = 1;
  plan_.virtual_ranks = 0;
}

double ClassWeights::sum_of(std::uint64_t step) {
  if (sampler_ == nullptr || step != next_step_) {
    plan_.first_step = step;
    plan_.steps = std::max(plan_.steps, step + 1);
    sampler_ = std::make_unique<data::TrainingSampler>(plan_, 0, 1);
  }
  next_step_ = step + 1;
  const auto request = sampler_->next();
  if (!request) throw InternalError("the plan has no step " + std::to_string(step + 1));
  double sum = 0;
  for (const std::uint32_t image : request->images) sum += weights_.at(images_.labels[image]);
  return sum;
}

}  // namespace tandem::train
