// The arithmetic of the forward pass: fp32, or bf16 or fp16 by autocast with fp32 master weights.
#pragma once

#include <string>
#include <vector>

namespace tandem::model {

enum class Precision { kFp32, kBf16, kFp16 };

std::vector<std::string> precision_names();
// Throws UsageError.
Precision parse_precision(const std::string& name);

}  // namespace tandem::model
