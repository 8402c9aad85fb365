#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {

std::optional<data::BatchRequest> BatchSource::load() {
  throw InternalError("these batches are not made in two parts");
}

TensorBatch BatchSource::made(const data::BatchRequest&) {
  throw InternalError("these batches are not made in two parts");
}

torch::Tensor tensor_of(float* images, std::size_t count, data::ImageShape shape,
                        data::Layout layout, const std::shared_ptr<const void>& owner) {
  const std::int64_t channels = shape.channels;
  const std::int64_t height = shape.height;
  const std::int64_t width = shape.width;
  const std::int64_t image = channels * height * width;
  const std::vector<std::int64_t> strides =
      layout == data::Layout::kPlanar
          ? std::vector<std::int64_t>{image, height * width, width, 1}
          : std::vector<std::int64_t>{image, 1, width * channels, channels};
  return torch::from_blob(
      images, {static_cast<std::int64_t>(count), channels, height, width}, strides,
      [owner](void*) {}, torch::kFloat32);
}

LoadedBatches::LoadedBatches(const data::ImagesView& view, data::Transform transform,
                             data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler,
                             int threads)
    : shape_(view.shape),
      layout_(transform.layout()),
      loader_(view, std::move(transform), augment, std::move(sampler), threads) {}

std::optional<TensorBatch> LoadedBatches::next() {
  std::optional<data::Batch> next = loader_.next();
  if (!next) return std::nullopt;
  const auto batch = std::make_shared<data::Batch>(std::move(*next));
  const auto count = static_cast<std::int64_t>(batch->size());
  const auto tensor = [&batch](void* values, at::IntArrayRef sizes, torch::Dtype type) {
    return torch::from_blob(
        values, sizes, [batch](void*) {}, type);
  };
  TensorBatch result;
  result.images = tensor_of(batch->images.get(), batch->size(), shape_, layout_, batch);
  result.labels = tensor(batch->labels.data(), {count}, torch::kInt64);
  if (!batch->other_labels.empty()) {
    result.other_labels = tensor(batch->other_labels.data(), {count}, torch::kInt64);
    result.other_shares = tensor(batch->other_shares.data(), {count}, torch::kFloat32);
  }
  if (!batch->targets.empty()) {
    const auto classes = static_cast<std::int64_t>(batch->targets.size()) / count;
    result.targets = tensor(batch->targets.data(), {count, classes}, torch::kFloat32);
  }
  result.request = std::move(batch->request);
  return result;
}

SentBatches::SentBatches(const data::ImagesView& view, data::Transform transform,
                         data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler,
                         torch::Device device, int threads)
    : loaded_(view, std::move(transform), augment, std::move(sampler), threads), device_(device) {}

std::optional<TensorBatch> SentBatches::next() {
  std::optional<TensorBatch> batch = loaded_.next();
  if (!batch) return std::nullopt;
  for (torch::Tensor* each : {&batch->images, &batch->labels, &batch->other_labels,
                              &batch->other_shares, &batch->targets}) {
    if (each->defined()) *each = each->to(device_);
  }
  return batch;
}

}  // namespace tandem::train
