// Which networks --model names. Needs no libtorch, so that help and refusals need none.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace tandem::model {

// From small to large; registry.cpp has a maker for each, in this order.
inline constexpr std::array<const char*, 6> kNetworkNames{"mlp",     "lenet",   "simple",
                                                          "fastnet", "resnet9", "resnet18"};

std::vector<std::string> network_names();

// Whether --model names a TorchScript file rather than one of these: it ends in .pt or has a '/'.
bool is_script_file(const std::string& model);

}  // namespace tandem::model
