#include "tandem/model/registry.hpp"

#include <algorithm>

#include "layers.hpp"
#include "networks.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

// Requires one of kNetworkNames.
NetworkPtr make_by_name(const std::string& name, InputShape shape, std::int64_t classes,
                        const HiddenWidths& widths, Stem stem) {
  if (name == kNetworkWithHiddenLayers) return make_mlp(shape, classes, widths);
  if (has_stem(name)) return make_resnet(name, shape, classes, stem);
  if (name == "lenet") return make_lenet(shape, classes);
  if (name == "simple") return make_simple(shape, classes);
  if (name == "fastnet") return make_fastnet(shape, classes);
  if (name == "resnet9") return make_resnet9(shape, classes);
  if (name == "vit-tiny") return make_vit_tiny(shape, classes);
  if (name == "vit-small") return make_vit_small(shape, classes);
  throw InternalError("model " + name +
                      " is in kNetworkNames, but no line of make_by_name() makes it");
}

}  // namespace

NetworkPtr make_network(const std::string& name, InputShape shape, std::int64_t classes,
                        const HiddenWidths& widths, Stem stem) {
  if (!widths.empty() && (name != kNetworkWithHiddenLayers || !are_possible(widths))) {
    throw UsageError("model " + name + ": has no hidden layers of the widths " +
                     hidden_widths_text(widths) + "; only " + kNetworkWithHiddenLayers +
                     " takes widths, from 1 to " + std::to_string(kMaxHiddenWidth));
  }
  if (stem != Stem::kCifar && !has_stem(name)) {
    throw UsageError("model " + name + ": has no " + name_of(stem) +
                     " stem; only resnet18, resnet34 and resnet50 have one");
  }
  const std::vector<std::string> known = network_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::optional<std::string> near = nearest(name, known);
    throw UsageError("model '" + name + "' is not known" +
                     (near ? "; did you mean '" + *near + "'?" : "") +
                     " (known: " + join(known, ", ") + ")");
  }
  require_smallest_image(name.c_str(), shape, 1);
  if (shape.channels < 1 || classes < 1) {
    throw UsageError("model " + name + ": found " + std::to_string(shape.channels) +
                     " channels and " + std::to_string(classes) +
                     " classes, expected at least one of each");
  }
  return make_by_name(name, shape, classes, widths, stem);
}

void choose_convolution(Network& network, ConvolutionChoice choice) {
  for (const std::shared_ptr<torch::nn::Module>& module : network.modules()) {
    if (auto* const convolution = module->as<Conv2dImpl>()) convolution->choice = choice;
  }
}

void require_smallest_image(const char* network, InputShape shape, std::int64_t pixels,
                            const std::string& fix) {
  if (shape.height >= pixels && shape.width >= pixels) return;
  throw UsageError(std::string("model ") + network + ": images of " + std::to_string(shape.height) +
                   "x" + std::to_string(shape.width) + " pixels are too small, expected at least " +
                   std::to_string(pixels) + "x" + std::to_string(pixels) + "; " +
                   (fix.empty() ? "choose a smaller model, 'mlp' takes any size" : fix));
}

}  // namespace tandem::model
