#include "tandem/model/stem.hpp"

#include "tandem/core/named_values.hpp"

namespace tandem::model {
namespace {

constexpr NamedValues<Stem, 2> kStems{{{Stem::kCifar, "cifar"}, {Stem::kImagenet, "imagenet"}}};

}  // namespace

std::vector<std::string> stem_names() { return tandem::names_of(kStems); }

std::string name_of(Stem stem) { return tandem::name_of(kStems, stem); }

Stem parse_stem(const std::string& name) { return tandem::value_of(kStems, "stem", name); }

bool has_stem(const std::string& network) {
  return network == "resnet18" || network == "resnet34" || network == "resnet50";
}

}  // namespace tandem::model
