#include <utility>

#include "tandem/train/batch_source.hpp"

namespace tandem::train {

LoadedBatches::LoadedBatches(data::ImagesView view, data::Transform transform,
                             data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler)
    : shape_(view.shape),
      layout_(transform.layout()),
      loader_(view, std::move(transform), augment, std::move(sampler)) {}

std::optional<TensorBatch> LoadedBatches::next() {
  std::optional<data::Batch> next = loader_.next();
  if (!next) return std::nullopt;
  const auto batch = std::make_shared<data::Batch>(std::move(*next));
  const auto keep = [batch](void*) {};  // as long as a tensor lives
  const std::int64_t count = static_cast<std::int64_t>(batch->size());
  const std::int64_t channels = shape_.channels;
  const std::int64_t height = shape_.height;
  const std::int64_t width = shape_.width;
  const std::int64_t image = channels * height * width;
  const std::vector<std::int64_t> strides =
      layout_ == data::Layout::kPlanar
          ? std::vector<std::int64_t>{image, height * width, width, 1}
          : std::vector<std::int64_t>{image, 1, width * channels, channels};
  TensorBatch result;
  result.images = torch::from_blob(batch->images.get(), {count, channels, height, width}, strides,
                                   keep, torch::kFloat32);
  result.labels = torch::from_blob(batch->labels.data(), {count}, keep, torch::kInt64);
  result.request = std::move(batch->request);
  return result;
}

}  // namespace tandem::train
