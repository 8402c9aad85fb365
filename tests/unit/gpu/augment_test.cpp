#include <gtest/gtest.h>

#include "support/emulated_gpu.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

namespace fused = model::fused;

// A row of draws for every shift, mirrored and not, black and reflected outside.
torch::Tensor all_draws(int images) {
  std::vector<torch::Tensor> rows;
  for (int shift_y = -5; shift_y <= 5; ++shift_y) {
    for (int shift_x = -5; shift_x <= 5; ++shift_x) {
      for (int flags = 0; flags < 4; ++flags) {
        const int image = static_cast<int>(rows.size()) % images;
        rows.push_back(
            torch::tensor({shift_y, shift_x, flags % 2, flags / 2, image}, torch::kInt64));
      }
    }
  }
  return torch::stack(rows);
}

void compare(const data::ImageShape& shape) {
  torch::manual_seed(1);
  constexpr int kImages = 3;
  const torch::Tensor images =
      torch::randint(0, 256, {kImages, shape.height, shape.width, shape.channels}, torch::kUInt8);
  PixelMoments moments;
  for (int c = 0; c < shape.channels; ++c) {
    moments.mean.push_back(0.3 + 0.1 * c);
    moments.std.push_back(0.21 + 0.07 * c);
  }
  const torch::Tensor drawn = all_draws(kImages);
  std::vector<float> scale, offset;
  for (const data::Normalization& channel : data::normalization_of(moments.mean, moments.std)) {
    scale.push_back(channel.scale);
    offset.push_back(channel.offset);
  }
  const torch::Device device = gpu::test_device();
  const fused::Augment from{images.to(device), drawn.to(device, torch::kInt32),
                            torch::tensor(scale).to(device), torch::tensor(offset).to(device)};
  for (const bool channels_last : {false, true}) {
    const data::Layout layout = channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
    const torch::Tensor expected =
        DeviceTransform(shape, layout, moments, torch::kCPU).apply(images, drawn);
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
      const torch::Tensor found = fused::augment(from, type, channels_last);
      EXPECT_TRUE(found.cpu().equal(expected.to(type))) << type << (channels_last ? ", last" : "");
      EXPECT_TRUE(found.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                    : at::MemoryFormat::Contiguous));
    }
  }
}

TEST(Augment, EqualsTheTransformOfManyOperators) {
  compare({3, 7, 5});
  compare({1, 4, 6});
  compare({2, 1, 1});
}

}  // namespace
}  // namespace tandem::train
