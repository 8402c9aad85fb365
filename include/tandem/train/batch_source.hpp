// What: the batches of a run as tensors on the device that computes.
// Owns: as each form says. Threads: one at a time. Throws: what the loader's thread threw.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tandem/data/augment.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

struct TensorBatch {
  data::BatchRequest request;
  torch::Tensor images;  // float [n, channels, height, width], augmented and normalised
  torch::Tensor labels;  // int64 [n]
  std::size_t size() const { return request.images.size(); }
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next one in the sampler's order; nothing after the last.
  virtual std::optional<TensorBatch> next() = 0;
};

// Batches that a thread of the CPU prepares. Owns the thread.
class LoadedBatches final : public BatchSource {
 public:
  // `view` must outlive it.
  LoadedBatches(data::ImagesView view, data::Transform transform, data::AugmentKey augment,
                std::unique_ptr<data::Sampler> sampler);
  std::optional<TensorBatch> next() override;

 private:
  const data::ImageShape shape_;
  const data::Layout layout_;
  data::BatchLoader loader_;
};

// What normalisation is made of: (pixel / 255 - mean) / std, per channel.
struct PixelMoments {
  std::vector<double> mean;
  std::vector<double> std;
};

// Batches that the device cuts out of a data set in its own memory, with the same random numbers
// and the same pixels, bit for bit, as the CPU's. Owns the copy of the data set.
class DeviceBatches final : public BatchSource {
 public:
  DeviceBatches(const data::ImagesView& view, const PixelMoments& moments, data::AugmentKey augment,
                std::unique_ptr<data::Sampler> sampler, torch::Device device);
  std::optional<TensorBatch> next() override;

  // What a data set takes of the device's memory.
  static std::size_t bytes_of(const data::ImagesView& view);

 private:
  torch::Tensor cut_out(const torch::Tensor& drawn) const;

  const data::ImageShape shape_;
  const data::AugmentKey augment_;
  const std::unique_ptr<data::Sampler> sampler_;
  const torch::Device device_;
  torch::Tensor images_;  // uint8 [count, height, width, channels]
  torch::Tensor labels_;  // int64 [count]
  torch::Tensor scale_;   // float [channels]: 1 / (255 std)
  torch::Tensor offset_;  // float [channels]: mean / std
  torch::Tensor rows_;    // int64 [height]: 0, 1, …
  torch::Tensor columns_;
};

}  // namespace tandem::train
