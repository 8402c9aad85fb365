// How layers of a network that is trained on CPUs compute 3x3 convolutions (--convolution).
#pragma once

#include <string>
#include <vector>

namespace tandem::model {

enum class ConvolutionChoice {
  kDirect,  // by libtorch; in bfloat16 by AMX's tiles where the processor has them
  kAuto,    // by Winograd's algorithm where it is faster on this processor, else as kDirect
};

std::vector<std::string> convolution_names();
std::string name_of(ConvolutionChoice choice);
// Throws UsageError.
ConvolutionChoice parse_convolution(const std::string& name);

}  // namespace tandem::model
