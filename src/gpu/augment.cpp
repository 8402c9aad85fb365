#include "call.hpp"

namespace tandem::gpu {

void augment(torch::jit::Stack& stack) {
  Call call(stack, 6);
  const torch::Tensor images = call.tensor(0), drawn = call.tensor(1);
  const torch::ScalarType type = call.at(4).toScalarType();
  const bool channels_last = call.at(5).toBool();
  TORCH_CHECK(images.dim() == 4 && drawn.dim() == 2 && drawn.size(1) == 5,
              "augment: expected images [M, H, W, C] and draws [N, 5], found ", images.sizes(),
              " and ", drawn.sizes());
  const std::int64_t height = images.size(1), width = images.size(2), channels = images.size(3);
  const torch::Tensor out =
      torch::empty({drawn.size(0), channels, height, width}, images.options().dtype(type),
                   channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  AugmentArguments arguments{};
  arguments.images = call.array<Byte>(0, torch::kUInt8, images);
  arguments.drawn = call.array<int>(1, torch::kInt32, images);
  arguments.scale = call.array<float>(2, torch::kFloat32, images);
  arguments.offset = call.array<float>(3, torch::kFloat32, images);
  arguments.out = out.data_ptr();
  arguments.pixels = drawn.size(0) * height * width;
  arguments.height = static_cast<int>(height);
  arguments.width = static_cast<int>(width);
  arguments.channels = static_cast<int>(channels);
  arguments.channels_last = channels_last ? 1 : 0;
  TORCH_CHECK(call.tensor(2).numel() == channels && call.tensor(3).numel() == channels,
              "augment: expected a scale and an offset for each of ", channels, " channels");
  if (arguments.pixels > 0) {
    launcher().launch(images.device(),
                      {"augment" + suffix_of(type), divided_up(arguments.pixels, kThreads)},
                      &arguments);
  }
  call.give(out);
}

}  // namespace tandem::gpu
