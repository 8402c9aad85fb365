// The widths of the hidden layers of `mlp`, as --hidden and the metadata of model files give them.
// Needs no libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::model {

// From the input to the output. Empty: the network's default.
using HiddenWidths = std::vector<std::int64_t>;

inline constexpr char kNetworkWithHiddenLayers[] = "mlp";
inline constexpr std::size_t kMaxHiddenLayers = 16;
inline constexpr std::int64_t kMaxHiddenWidth = 65536;

HiddenWidths default_hidden_widths();
// `widths`, or the default if they are empty.
HiddenWidths widths_or_default(const HiddenWidths& widths);
// Of "100" or "512,512"; UsageError for anything else.
HiddenWidths parse_hidden_widths(const std::string& text);
std::string hidden_widths_text(const HiddenWidths& widths);
// Whether they are as many and as large as parse_hidden_widths() accepts.
bool are_possible(const HiddenWidths& widths);

}  // namespace tandem::model
