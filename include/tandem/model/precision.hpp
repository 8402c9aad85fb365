// The arithmetic of the forward pass: fp32; tf32, which is fp32 whose factors of products a GPU's
// tensor cores round to 10 bits of mantissa; or bf16 or fp16 by autocast with fp32 master weights.
#pragma once

#include <string>
#include <vector>

#include "tandem/core/named_values.hpp"

namespace tandem::model {

enum class Precision { kFp32, kTf32, kBf16, kFp16 };

inline constexpr NamedValues<Precision, 4> kPrecisions{{{Precision::kFp32, "fp32"},
                                                        {Precision::kTf32, "tf32"},
                                                        {Precision::kBf16, "bf16"},
                                                        {Precision::kFp16, "fp16"}}};

inline std::vector<std::string> precision_names() { return tandem::names_of(kPrecisions); }
// Whether only GPUs compute with it.
inline bool needs_gpu(Precision precision) {
  return precision == Precision::kTf32 || precision == Precision::kFp16;
}
// Throws UsageError.
inline Precision parse_precision(const std::string& name) {
  return tandem::value_of(kPrecisions, "precision", name);
}

}  // namespace tandem::model
