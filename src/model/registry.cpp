#include "tandem/model/registry.hpp"

#include <array>

#include "layers.hpp"
#include "networks.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

using Maker = NetworkPtr (*)(InputShape shape, std::int64_t classes);

// In the order of kNetworkNames.
constexpr std::array<Maker, kNetworkNames.size()> kMakers{
    make_mlp,      make_lenet,    make_simple,   make_fastnet,  make_resnet9,
    make_resnet18, make_resnet34, make_resnet50, make_vit_tiny, make_vit_small};

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
  for (std::size_t i = 0; i < kMakers.size(); ++i) {
    if (name != kNetworkNames[i]) continue;
    require_smallest_image(kNetworkNames[i], shape, 1);
    if (shape.channels < 1 || classes < 1) {
      throw UsageError("model " + name + ": found " + std::to_string(shape.channels) +
                       " channels and " + std::to_string(classes) +
                       " classes, expected at least one of each");
    }
    if (!widths.empty()) return make_mlp_of(shape, classes, widths);
    if (stem != Stem::kCifar) return make_resnet(name, shape, classes, stem);
    return kMakers[i](shape, classes);
  }
  const std::optional<std::string> near = nearest(name, network_names());
  throw UsageError("model '" + name + "' is not known" +
                   (near ? "; did you mean '" + *near + "'?" : "") +
                   " (known: " + join(network_names(), ", ") + ")");
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
