#include "drawn_augmentation.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

// data::reflected of each.
torch::Tensor reflect(const torch::Tensor& places, int size) {
  if (size == 1) return torch::zeros_like(places);
  const int period = 2 * (size - 1);
  const torch::Tensor within = places.remainder(period);
  return torch::minimum(within, period - within);
}

}  // namespace

torch::Tensor draw_table(const data::BatchRequest& request, const data::AugmentKey& augment,
                         std::size_t image_count, bool pinned) {
  torch::Tensor drawn =
      torch::empty({static_cast<std::int64_t>(request.images.size()), kDrawnColumns},
                   torch::TensorOptions(torch::kInt32).pinned_memory(pinned));
  auto* row = drawn.data_ptr<std::int32_t>();
  for (const std::uint32_t image : request.images) {
    if (image >= image_count) {
      throw InternalError("image " + std::to_string(image) + " was asked for, the data set has " +
                          std::to_string(image_count));
    }
    const data::Augmentation augmentation =
        data::draw_augmentation(augment.spec, augment.seed, request.epoch, image);
    row[kShiftY] = augmentation.shift_y;
    row[kShiftX] = augmentation.shift_x;
    row[kFlip] = augmentation.flip ? 1 : 0;
    row[kReflect] = augmentation.border == data::Border::kReflected ? 1 : 0;
    row[kImage] = static_cast<std::int32_t>(image);
    row += kDrawnColumns;
  }
  return drawn;
}

DeviceTransform::DeviceTransform(data::ImageShape shape, data::Layout layout,
                                 const PixelMoments& moments, torch::Device device)
    : shape_(shape), layout_(layout), type_(moments.type) {
  std::vector<float> scale;
  std::vector<float> offset;
  for (const data::Normalization& channel : data::normalization_of(moments.mean, moments.std)) {
    scale.push_back(channel.scale);
    offset.push_back(channel.offset);
  }
  scale_ = torch::tensor(scale).to(device);
  offset_ = torch::tensor(offset).to(device);
  rows_ = torch::arange(shape.height, torch::kInt64).to(device);
  columns_ = torch::arange(shape.width, torch::kInt64).to(device);
}

// data::Transform::apply for a batch: output (y, x) is input (y + shift_y, x' + shift_x), black or
// reflected outside, where x' is x, mirrored where `flip`.
torch::Tensor DeviceTransform::apply(const torch::Tensor& images,
                                     const torch::Tensor& drawn) const {
  if (model::fused::is_used_on(device().type())) {
    return model::fused::augment({images, drawn, scale_, offset_}, type_,
                                 layout_ == data::Layout::kChannelsLast);
  }
  const auto column = [&drawn](int number) { return drawn.slice(1, number, number + 1); };
  const torch::Tensor mirrored =
      torch::where(column(kFlip) == 1, shape_.width - 1 - columns_, columns_);
  const auto place = [&](const torch::Tensor& shifted, int size) {
    return torch::where(column(kReflect) == 1, reflect(shifted, size), shifted);
  };
  const torch::Tensor y = place(rows_ + column(kShiftY), shape_.height);    // [n, height]
  const torch::Tensor x = place(mirrored + column(kShiftX), shape_.width);  // [n, width]
  const torch::Tensor inside = ((y >= 0) & (y < shape_.height)).unsqueeze(2) &
                               ((x >= 0) & (x < shape_.width)).unsqueeze(1);  // [n, height, width]
  const torch::Tensor pixels =
      images.index({drawn.select(1, kImage).to(torch::kInt64).view({-1, 1, 1}),
                    y.clamp(0, shape_.height - 1).unsqueeze(2),
                    x.clamp(0, shape_.width - 1).unsqueeze(1)});  // [n, height, width, channels]
  const torch::Tensor seen = pixels * inside.unsqueeze(3);
  // Two roundings, as data::Transform has.
  torch::Tensor result = seen.to(torch::kFloat32).mul_(scale_).sub_(offset_).permute({0, 3, 1, 2});
  if (layout_ == data::Layout::kChannelsLast) return result;
  // Viewed twice, because images of one channel are contiguous in both layouts: with the strides of
  // channels-last images, convolutions would take them for such.
  return result.contiguous().view({result.numel()}).view(result.sizes());
}

}  // namespace tandem::train
