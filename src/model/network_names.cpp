#include "tandem/model/network_names.hpp"

#include <algorithm>

#include "tandem/core/text.hpp"

namespace tandem::model {

std::vector<std::string> network_names() { return {kNetworkNames.begin(), kNetworkNames.end()}; }

std::vector<std::string> networks_with_norms() {
  return {"fastnet", "resnet9", "resnet18", "resnet34", "resnet50"};
}

bool has_norms(const std::string& network) {
  const std::vector<std::string> names = networks_with_norms();
  return std::find(names.begin(), names.end(), network) != names.end();
}

std::vector<std::string> networks_with_blocks() {
  return {"resnet18", "resnet34", "resnet50", "vit-tiny", "vit-small"};
}

bool has_blocks(const std::string& network) {
  const std::vector<std::string> names = networks_with_blocks();
  return std::find(names.begin(), names.end(), network) != names.end();
}

bool is_script_file(const std::string& model) {
  return ends_with(model, ".pt") || model.find('/') != std::string::npos;
}

}  // namespace tandem::model
