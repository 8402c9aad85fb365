// Test-time augmentation: averages a network's predictions over several views of an image. One
// thread at a time. Throws what the network throws.
#pragma once

#include "tandem/model/network.hpp"

namespace tandem::train {

// The mean of the logits, float [N, classes], of six views: the image with weight 1/2, and the
// image moved by one pixel to either corner, its edges reflected, with 1/4 each; half of each is
// that of its mirror image (infer_mirror_translate of KellerJordan/cifar10-airbench). `logits`:
// what the network says of `images` as they are, which it is not asked again.
torch::Tensor logits_of_views(model::Network& network, const torch::Tensor& images,
                              const torch::Tensor& logits);

}  // namespace tandem::train
