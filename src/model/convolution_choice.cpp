#include "tandem/model/convolution_choice.hpp"

#include "tandem/core/named_values.hpp"

namespace tandem::model {
namespace {

constexpr NamedValues<ConvolutionChoice, 2> kConvolutions{
    {{ConvolutionChoice::kAuto, "auto"}, {ConvolutionChoice::kDirect, "direct"}}};

}  // namespace

std::vector<std::string> convolution_names() { return tandem::names_of(kConvolutions); }

std::string name_of(ConvolutionChoice choice) { return tandem::name_of(kConvolutions, choice); }

ConvolutionChoice parse_convolution(const std::string& name) {
  return tandem::value_of(kConvolutions, "convolution", name);
}

}  // namespace tandem::model
