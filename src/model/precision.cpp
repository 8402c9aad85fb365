#include "tandem/model/precision.hpp"

#include <ATen/autocast_mode.h>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {

std::vector<std::string> precision_names() { return {"fp32", "bf16", "fp16"}; }

Precision parse_precision(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp16") return Precision::kFp16;
  throw UsageError("precision '" + name + "' is not known, expected " +
                   join(precision_names(), " or "));
}

AutocastScope::AutocastScope(Precision precision, torch::DeviceType device)
    : device_(device), before_(autocast_on(device)) {
  set_autocast_on(device_, {precision != Precision::kFp32,
                            precision == Precision::kFp16 ? torch::kFloat16 : torch::kBFloat16});
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast_on(device_, before_);
}

}  // namespace tandem::model
