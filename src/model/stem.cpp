#include "tandem/model/stem.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {

std::vector<std::string> stem_names() { return {"cifar", "imagenet"}; }

std::string name_of(Stem stem) { return stem == Stem::kImagenet ? "imagenet" : "cifar"; }

Stem parse_stem(const std::string& name) {
  for (const Stem stem : {Stem::kCifar, Stem::kImagenet}) {
    if (name == name_of(stem)) return stem;
  }
  throw UsageError("stem '" + name + "' is not known, expected " + join(stem_names(), " or "));
}

bool has_stem(const std::string& network) {
  return network == "resnet18" || network == "resnet34" || network == "resnet50";
}

}  // namespace tandem::model
