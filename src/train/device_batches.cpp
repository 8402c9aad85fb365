#include <optional>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

// Columns of the table that goes to the device with each batch.
enum { kImage, kShiftY, kShiftX, kFlip, kDrawnColumns };

torch::Tensor per_channel(const std::vector<float>& values, torch::Device device) {
  return torch::tensor(values).to(device);
}

}  // namespace

std::size_t DeviceBatches::bytes_of(const data::ImagesView& view) {
  return view.images.size() + view.labels.size() * sizeof(std::int64_t);
}

DeviceBatches::DeviceBatches(const data::ImagesView& view, const PixelMoments& moments,
                             data::AugmentKey augment, std::unique_ptr<data::Sampler> sampler,
                             torch::Device device)
    : shape_(view.shape), augment_(augment), sampler_(std::move(sampler)), device_(device) {
  const auto count = static_cast<std::int64_t>(view.labels.size());
  // from_blob wants mutable pointers and the results are only read.
  const torch::Tensor planar =
      torch::from_blob(const_cast<std::uint8_t*>(view.images.data()),
                       {count, shape_.channels, shape_.height, shape_.width}, torch::kUInt8);
  // Pixels of a place side by side, so that what is cut out lies as channels-last filters want it.
  images_ = planar.to(device).permute({0, 2, 3, 1}).contiguous();
  labels_ = torch::from_blob(const_cast<std::uint8_t*>(view.labels.data()), {count}, torch::kUInt8)
                .to(torch::kInt64)
                .to(device);
  // The numbers of data::Transform, rounded where it rounds.
  std::vector<float> scale;
  std::vector<float> offset;
  for (std::size_t channel = 0; channel < moments.std.size(); ++channel) {
    scale.push_back(static_cast<float>(1 / (255 * moments.std[channel])));
    offset.push_back(static_cast<float>(moments.mean[channel] / moments.std[channel]));
  }
  scale_ = per_channel(scale, device);
  offset_ = per_channel(offset, device);
  rows_ = torch::arange(shape_.height, torch::kInt64).to(device);
  columns_ = torch::arange(shape_.width, torch::kInt64).to(device);
}

std::optional<TensorBatch> DeviceBatches::next() {
  const torch::NoGradGuard no_grad;
  std::optional<data::BatchRequest> request = sampler_->next();
  if (!request) return std::nullopt;
  // From page-locked memory the copy needs nobody to wait.
  torch::Tensor drawn =
      torch::empty({static_cast<std::int64_t>(request->images.size()), kDrawnColumns},
                   torch::TensorOptions(torch::kInt64).pinned_memory(device_.is_cuda()));
  auto* row = drawn.data_ptr<std::int64_t>();
  for (const std::uint32_t image : request->images) {
    if (image >= labels_.size(0)) {
      throw InternalError("image " + std::to_string(image) + " was asked for, the data set has " +
                          std::to_string(labels_.size(0)));
    }
    const data::Augmentation augmentation =
        data::draw_augmentation(augment_.spec, augment_.seed, request->epoch, image);
    row[kImage] = image;
    row[kShiftY] = augmentation.shift_y;
    row[kShiftX] = augmentation.shift_x;
    row[kFlip] = augmentation.flip ? 1 : 0;
    row += kDrawnColumns;
  }
  drawn = drawn.to(device_, /*non_blocking=*/true);
  TensorBatch batch;
  batch.images = cut_out(drawn);
  batch.labels = labels_.index_select(0, drawn.select(1, kImage));
  batch.request = std::move(*request);
  return batch;
}

// data::Transform::apply for a batch: output (y, x) is input (y + shift_y, x' + shift_x), black
// outside, where x' is x, mirrored where `flip`.
torch::Tensor DeviceBatches::cut_out(const torch::Tensor& drawn) const {
  const auto column = [&drawn](int which) { return drawn.slice(1, which, which + 1); };  // [n, 1]
  const torch::Tensor mirrored =
      torch::where(column(kFlip) == 1, shape_.width - 1 - columns_, columns_);
  const torch::Tensor y = rows_ + column(kShiftY);     // [n, height]
  const torch::Tensor x = mirrored + column(kShiftX);  // [n, width]
  const torch::Tensor inside = ((y >= 0) & (y < shape_.height)).unsqueeze(2) &
                               ((x >= 0) & (x < shape_.width)).unsqueeze(1);  // [n, height, width]
  const torch::Tensor pixels = images_.index(
      {drawn.select(1, kImage).view({-1, 1, 1}), y.clamp(0, shape_.height - 1).unsqueeze(2),
       x.clamp(0, shape_.width - 1).unsqueeze(1)});  // [n, height, width, channels]
  const torch::Tensor seen = pixels * inside.unsqueeze(3);
  // Two roundings, as data::Transform has.
  return seen.to(torch::kFloat32).mul_(scale_).sub_(offset_).permute({0, 3, 1, 2});
}

}  // namespace tandem::train
