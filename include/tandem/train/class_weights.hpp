// Weights of the classes in the loss, as torch.nn.CrossEntropyLoss(weight=…) over the global batch:
// the weighted sum of losses, divided by the sum of the weights of all its images. One thread at a
// time. Throws UsageError.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/data/batch_loader.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/config.hpp"

namespace tandem::train {

// The weights that `config` asks for, times one factor, so that the mean over `images` is 1. Then
// the reported loss of an epoch is the weighted mean. Balanced weights are images / (classes *
// images of the class), as scikit-learn has them; a class without images has 1.
std::vector<double> weights_of_classes(const TrainConfig& config, const data::ImagesView& images,
                                       std::size_t classes);

// The weights of positive targets in the binary cross entropy of a multi-label set, one for each
// class. A balanced weight is images without the class / images with it, as in the documentation of
// torch.nn.BCEWithLogitsLoss. It is 1 for a class that all or no images have.
std::vector<float> positive_weights_of(const TrainConfig& config, const data::ImagesView& images,
                                       std::size_t classes);

class ClassWeights {
 public:
  // `images`: those of `plan`; they must outlive this object. `by_class` is rounded to fp32.
  ClassWeights(const std::vector<double>& by_class, const data::ImagesView& images,
               const data::TrainingPlan& plan, torch::Device device);

  // float [classes] on the device.
  const torch::Tensor& by_class() const { return by_class_; }
  // The sum of the weights over the global batch of a step. It is the same on every rank without
  // communication, because the images of a step are a function of the plan. Fast if steps come in
  // order.
  double sum_of(std::uint64_t step);

 private:
  const std::vector<float> weights_;
  const torch::Tensor by_class_;
  const data::ImagesView images_;
  data::TrainingPlan plan_;  // as of one rank with one batch a step
  std::unique_ptr<data::Sampler> sampler_;
  std::uint64_t next_step_ = 0;  // of the sampler
};

}  // namespace tandem::train
