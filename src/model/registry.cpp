#include "tandem/model/registry.hpp"

#include <array>

#include "networks.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

struct Row {
  const char* name;
  NetworkPtr (*make)(InputShape shape, std::int64_t classes);
};

constexpr std::array<Row, 6> kNetworks{{
    {"mlp", make_mlp},
    {"lenet", make_lenet},
    {"simple", make_simple},
    {"fastnet", make_fastnet},
    {"resnet9", make_resnet9},
    {"resnet18", make_resnet18},
}};

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Row& row : kNetworks) names.emplace_back(row.name);
  return names;
}

NetworkPtr make_network(const std::string& name, InputShape shape, std::int64_t classes) {
  for (const Row& row : kNetworks) {
    if (name != row.name) continue;
    require_smallest_image(row.name, shape, 1);
    if (shape.channels < 1 || classes < 1) {
      throw UsageError("model " + name + ": found " + std::to_string(shape.channels) +
                       " channels and " + std::to_string(classes) +
                       " classes, expected at least one of each");
    }
    return row.make(shape, classes);
  }
  const std::optional<std::string> near = nearest(name, network_names());
  throw UsageError("model '" + name + "' is not known" +
                   (near ? "; did you mean '" + *near + "'?" : "") +
                   " (known: " + join(network_names(), ", ") + ")");
}

void require_smallest_image(const char* network, InputShape shape, std::int64_t pixels) {
  if (shape.height >= pixels && shape.width >= pixels) return;
  throw UsageError(std::string("model ") + network + ": images of " + std::to_string(shape.height) +
                   "x" + std::to_string(shape.width) + " pixels are too small, expected at least " +
                   std::to_string(pixels) + "x" + std::to_string(pixels) +
                   "; choose a smaller model, 'mlp' takes any size");
}

}  // namespace tandem::model
