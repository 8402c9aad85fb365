// Writes weights for Python as .pth. tandem reads no .pth: it is a pickle, which can run code.
// Throws CannotCreateError, IoError.
#pragma once

#include <string>
#include <vector>

#include "tandem/model/state_dict.hpp"

namespace tandem::model {

// A plain dict of tensors in the given order, which torch.load(path, weights_only=True) accepts.
// Appears under `path` only when it is complete.
void write_pth(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace tandem::model
