#include "tandem/model/precision.hpp"

#include <ATen/autocast_mode.h>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::model {

std::vector<std::string> precision_names() { return {"fp32", "bf16"}; }

Precision parse_precision(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  throw UsageError("precision '" + name + "' is not known, expected " +
                   join(precision_names(), " or "));
}

AutocastScope::AutocastScope(Precision precision) : enabled_before_(cpu_autocast_enabled()) {
  set_cpu_autocast_enabled(precision == Precision::kBf16);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_cpu_autocast_enabled(enabled_before_);
}

}  // namespace tandem::model
