// The first layers of resnet18, resnet34 and resnet50, as --stem and the metadata of model files
// name them. Needs no libtorch.
#pragma once

#include <string>
#include <vector>

#include "tandem/core/named_values.hpp"

namespace tandem::model {

enum class Stem {
  kCifar,     // a 3x3 convolution
  kImagenet,  // torchvision's: a 7x7 convolution with stride 2, and 3x3 max pooling with stride 2
};

inline constexpr NamedValues<Stem, 2> kStems{
    {{Stem::kCifar, "cifar"}, {Stem::kImagenet, "imagenet"}}};

inline std::vector<std::string> stem_names() { return tandem::names_of(kStems); }
inline std::string name_of(Stem stem) { return tandem::name_of(kStems, stem); }
// Throws UsageError.
inline Stem parse_stem(const std::string& name) { return tandem::value_of(kStems, "stem", name); }
// Whether the network of this name has a choice of stem.
inline bool has_stem(const std::string& network) {
  return network == "resnet18" || network == "resnet34" || network == "resnet50";
}

}  // namespace tandem::model
