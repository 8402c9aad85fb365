// Which networks --model names. Needs no libtorch, so that help and refusals need none.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace tandem::model {

// From small to large of each kind; registry.cpp makes each.
inline constexpr std::array<const char*, 10> kNetworkNames{
    "mlp",      "lenet",    "simple",   "fastnet",  "resnet9",
    "resnet18", "resnet34", "resnet50", "vit-tiny", "vit-small"};

std::vector<std::string> network_names();

std::vector<std::string> networks_with_norms();  // with batch normalization
bool has_norms(const std::string& network);
std::vector<std::string> networks_with_blocks();  // Network::recompute_blocks() has an effect
bool has_blocks(const std::string& network);

// Whether --model names a TorchScript file rather than one of these: it ends in .pt or has a '/'.
bool is_script_file(const std::string& model);

}  // namespace tandem::model
