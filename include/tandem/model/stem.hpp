// The first layers of resnet18, resnet34 and resnet50, as --stem and the metadata of model files
// name them. Needs no libtorch.
#pragma once

#include <string>
#include <vector>

namespace tandem::model {

enum class Stem {
  kCifar,     // a 3x3 convolution
  kImagenet,  // torchvision's: a 7x7 convolution with stride 2, and 3x3 max pooling with stride 2
};

std::vector<std::string> stem_names();
std::string name_of(Stem stem);
// Throws UsageError.
Stem parse_stem(const std::string& name);
// Whether the network of this name has a choice of stem.
bool has_stem(const std::string& network);

}  // namespace tandem::model
