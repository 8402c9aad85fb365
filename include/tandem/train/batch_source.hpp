// The batches of a run as tensors on the device that computes. One thread at a time. Throws what
// the loader's thread threw.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

struct TensorBatch {
  data::BatchRequest request;
  torch::Tensor images;  // [n, channels, height, width], augmented and normalized
  torch::Tensor labels;  // int64 [n]; of mixed images the heavier label
  // The lighter label of mixed images and its share; undefined if no images are mixed.
  torch::Tensor other_labels = {};  // int64 [n]
  torch::Tensor other_shares = {};  // float [n]
  torch::Tensor targets = {};       // float [n, classes] in [0, 1], of a multi-label set
  bool is_mixed() const { return other_labels.defined(); }
  bool is_multi_label() const { return targets.defined(); }
  std::size_t size() const { return request.images.size(); }
};

// Float [count, channels, height, width] over `count` images that lie in memory in the layout.
// `owner` lives as long as a tensor of them; without one the memory must.
torch::Tensor tensor_of(float* images, std::size_t count, data::ImageShape shape,
                        data::Layout layout, const std::shared_ptr<const void>& owner = nullptr);

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next batch in the sampler's order; absent after the last one.
  virtual std::optional<TensorBatch> next() = 0;
  // next() in two parts, for a step that is recorded once and repeated: load() brings to the device
  // what is new in a batch, and made() has it compute the batch, by the same operations on the same
  // memory for each batch of a size. A source without them throws InternalError.
  virtual std::optional<data::BatchRequest> load();
  virtual TensorBatch made(const data::BatchRequest& request);
};

// Batches prepared by background threads of the CPU.
class LoadedBatches final : public BatchSource {
 public:
  // `view` must outlive it.
  LoadedBatches(const data::ImagesView& view, data::Transform transform, data::AugmentKey augment,
                std::unique_ptr<data::Sampler> sampler, int threads = 1);
  std::optional<TensorBatch> next() override;

 private:
  const data::ImageShape shape_;
  const data::Layout layout_;
  data::BatchLoader loader_;
};

// Batches of the CPU's loader, sent to a device, for augmentations that devices do not do.
class SentBatches final : public BatchSource {
 public:
  // `view` must outlive it.
  SentBatches(const data::ImagesView& view, data::Transform transform, data::AugmentKey augment,
              std::unique_ptr<data::Sampler> sampler, torch::Device device, int threads = 1);
  std::optional<TensorBatch> next() override;

 private:
  LoadedBatches loaded_;
  const torch::Device device_;
};

// The parameters of normalization: (pixel / 255 - mean) / std, per channel.
struct PixelMoments {
  std::vector<double> mean;
  std::vector<double> std;
  // Of normalized images, where a device has an operator that makes them; elsewhere float.
  torch::Dtype type = torch::kFloat32;
};

// Crop, flip and normalization of whole batches on a device: the pixels of data::Transform, bit for
// bit.
class DeviceTransform {
 public:
  DeviceTransform(data::ImageShape shape, data::Layout layout, const PixelMoments& moments,
                  torch::Device device);
  // `images`: uint8 [count, height, width, channels]; `drawn`: draw_table(), on the device. Row i
  // names an image in column kImage and its augmentation. It becomes the i-th image of the result,
  // [n, channels, height, width] in the layout and of the moments' type.
  torch::Tensor apply(const torch::Tensor& images, const torch::Tensor& drawn) const;
  torch::Device device() const { return scale_.device(); }

 private:
  const data::ImageShape shape_;
  const data::Layout layout_;
  const torch::Dtype type_;
  torch::Tensor scale_;    // float [channels]: 1 / (255 std)
  torch::Tensor offset_;   // float [channels]: mean / std
  torch::Tensor rows_;     // int64 [height]: 0, 1, …
  torch::Tensor columns_;  // int64 [width]
};

// A data set in the memory of a device.
struct ResidentImages {
  // Decodes all picture files, which may take many minutes, and calls `touch` meanwhile.
  ResidentImages(const data::ImagesView& view, torch::Device device,
                 data::Decoding decoding = data::Decoding::kExact, const Touch& touch = {});
  // The device memory that a data set needs.
  static std::size_t bytes_of(const data::ImagesView& view);

  data::ImageShape shape;
  torch::Tensor images;  // uint8 [count, height, width, channels]
  torch::Tensor labels;  // int64 [count]
};

// Batches that the device cuts out of a data set in its own memory, with the same random numbers
// and the same pixels, bit for bit, as the CPU's.
class ResidentBatches final : public BatchSource {
 public:
  ResidentBatches(const data::ImagesView& view, data::Layout layout, const PixelMoments& moments,
                  data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler,
                  torch::Device device);
  ResidentBatches(std::shared_ptr<const ResidentImages> set, data::Layout layout,
                  const PixelMoments& moments, data::AugmentKey augment,
                  std::unique_ptr<data::Sampler> sampler);
  ~ResidentBatches() override;
  std::optional<TensorBatch> next() override;
  std::optional<data::BatchRequest> load() override;
  TensorBatch made(const data::BatchRequest& request) override;

 private:
  struct Draws;
  const std::shared_ptr<const ResidentImages> set_;
  const DeviceTransform transform_;
  std::map<std::size_t, torch::Tensor> drawn_;  // of the last batch of each size, on the device
  std::unique_ptr<Draws> draws_;
};

// For a data set that is larger than the device's memory: a thread gathers each batch's bytes,
// which are copied to the device while it computes the previous batch. Owns the thread.
class StreamedBatches final : public BatchSource {
 public:
  // `view` must outlive it.
  StreamedBatches(const data::ImagesView& view, data::Layout layout, const PixelMoments& moments,
                  data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler,
                  torch::Device device);
  ~StreamedBatches() override;
  std::optional<TensorBatch> next() override;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tandem::train
