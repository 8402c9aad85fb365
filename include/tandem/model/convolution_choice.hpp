// How layers of a network that is trained on CPUs compute 3x3 convolutions (--convolution).
#pragma once

#include <string>
#include <vector>

#include "tandem/core/named_values.hpp"

namespace tandem::model {

enum class ConvolutionChoice {
  kDirect,  // by libtorch; in bfloat16 by AMX's tiles where the processor has them
  kAuto,    // by Winograd's algorithm where it is faster on this processor, else as kDirect
};

inline constexpr NamedValues<ConvolutionChoice, 2> kConvolutions{
    {{ConvolutionChoice::kAuto, "auto"}, {ConvolutionChoice::kDirect, "direct"}}};

inline std::vector<std::string> convolution_names() { return tandem::names_of(kConvolutions); }
inline std::string name_of(ConvolutionChoice choice) {
  return tandem::name_of(kConvolutions, choice);
}
// Throws UsageError.
inline ConvolutionChoice parse_convolution(const std::string& name) {
  return tandem::value_of(kConvolutions, "convolution", name);
}

}  // namespace tandem::model
