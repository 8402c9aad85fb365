// The arithmetic of the forward pass: fp32; tf32, which is fp32 whose factors of products a GPU's
// tensor cores round to 10 bits of mantissa; or bf16 or fp16 by autocast with fp32 master weights.
#pragma once

#include <string>
#include <vector>

namespace tandem::model {

enum class Precision { kFp32, kTf32, kBf16, kFp16 };

std::vector<std::string> precision_names();
// Whether only GPUs compute with it.
bool needs_gpu(Precision precision);
// Throws UsageError.
Precision parse_precision(const std::string& name);

}  // namespace tandem::model
