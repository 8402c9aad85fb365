// Messages for a path that is not a packed data set: its kind, and a command for it. Reads names,
// first bytes and a few headers only, and trusts none of them.
#pragma once

#include <string>

#include "tandem/core/error.hpp"

namespace tandem::data {

// "pets: is a folder of pictures, a packed data set was expected; pack it: tandem pack --input …".
// MissingInputError or IoError if the path cannot be opened.
DataError not_packed(const std::string& path);

// For a missing path: "; make it: tandem pack …" if it is the name of a known data set; otherwise
// empty.
std::string how_to_make(const std::string& path);

}  // namespace tandem::data
