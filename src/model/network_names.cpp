#include "tandem/model/network_names.hpp"

#include "tandem/core/text.hpp"

namespace tandem::model {

std::vector<std::string> network_names() { return {kNetworkNames.begin(), kNetworkNames.end()}; }

bool has_blocks(const std::string& network) {
  for (const char* each : {"resnet18", "resnet34", "resnet50", "vit-tiny", "vit-small"}) {
    if (network == each) return true;
  }
  return false;
}

bool is_script_file(const std::string& model) {
  return ends_with(model, ".pt") || model.find('/') != std::string::npos;
}

}  // namespace tandem::model
