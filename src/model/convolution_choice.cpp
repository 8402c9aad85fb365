#include "tandem/model/convolution_choice.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {

std::vector<std::string> convolution_names() { return {"auto", "direct"}; }

std::string name_of(ConvolutionChoice choice) {
  return choice == ConvolutionChoice::kAuto ? "auto" : "direct";
}

ConvolutionChoice parse_convolution(const std::string& name) {
  if (name == "auto") return ConvolutionChoice::kAuto;
  if (name == "direct") return ConvolutionChoice::kDirect;
  throw UsageError("convolution '" + name + "' is not known, expected " +
                   join(convolution_names(), " or "));
}

}  // namespace tandem::model
