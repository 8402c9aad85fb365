#include "tandem/model/precision.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {

std::vector<std::string> precision_names() { return {"fp32", "tf32", "bf16", "fp16"}; }

bool needs_gpu(Precision precision) {
  return precision == Precision::kTf32 || precision == Precision::kFp16;
}

Precision parse_precision(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "tf32") return Precision::kTf32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp16") return Precision::kFp16;
  throw UsageError("precision '" + name + "' is not known, expected " +
                   join(precision_names(), " or "));
}

}  // namespace tandem::model
