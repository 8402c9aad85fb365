#include "tandem/model/precision.hpp"

#include "tandem/core/named_values.hpp"

namespace tandem::model {
namespace {

constexpr NamedValues<Precision, 4> kPrecisions{{{Precision::kFp32, "fp32"},
                                                 {Precision::kTf32, "tf32"},
                                                 {Precision::kBf16, "bf16"},
                                                 {Precision::kFp16, "fp16"}}};

}  // namespace

std::vector<std::string> precision_names() { return tandem::names_of(kPrecisions); }

bool needs_gpu(Precision precision) {
  return precision == Precision::kTf32 || precision == Precision::kFp16;
}

Precision parse_precision(const std::string& name) {
  return tandem::value_of(kPrecisions, "precision", name);
}

}  // namespace tandem::model
