// Test-time augmentation: averages a network's predictions over several views of an image. One
// thread at a time. Throws what the network throws.
#pragma once

#include "tandem/model/network.hpp"

namespace tandem::train {

// The mean of the logits, float [N, classes], of six views: the image with weight 1/2, and the
// image moved by one pixel to either corner, its edges reflected, with 1/4 each. Mirror images get
// half of each weight (infer_mirror_translate of KellerJordan/cifar10-airbench). `logits`: the
// network's output for `images`, which is not computed again.
torch::Tensor logits_of_views(model::Network& network, const torch::Tensor& images,
                              const torch::Tensor& logits);

}  // namespace tandem::train
