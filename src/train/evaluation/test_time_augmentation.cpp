#include "test_time_augmentation.hpp"

namespace tandem::train {

torch::Tensor logits_of_views(model::Network& network, const torch::Tensor& images,
                              const torch::Tensor& logits) {
  const auto answer = [&network](const torch::Tensor& view) {
    return network.forward(view).to(torch::kFloat32);
  };
  const auto mirrored = [](const torch::Tensor& view) { return view.flip({3}); };
  const torch::Tensor padded = at::reflection_pad2d(images, {1, 1, 1, 1});
  torch::Tensor moved = torch::zeros_like(logits, torch::kFloat32);
  for (const std::int64_t corner : {0, 2}) {
    const torch::Tensor view = padded.narrow(2, corner, images.size(2))
                                   .narrow(3, corner, images.size(3))
                                   .contiguous(images.suggest_memory_format());
    moved += answer(view) + answer(mirrored(view));
  }
  const torch::Tensor still = logits.to(torch::kFloat32) + answer(mirrored(images));
  return still / 4 + moved / 8;
}

}  // namespace tandem::train
