// Says what a path is that should be a packed data set and is not, and which command goes on with
// it. Only for messages: it looks at names, first bytes and a few headers, and trusts none of them.
#pragma once

#include <string>

#include "tandem/core/error.hpp"

namespace tandem::data {

// "pets: is a folder of pictures, a packed data set was expected; pack it: tandem pack --input …".
// MissingInputError or IoError if the path cannot be opened.
DataError not_packed(const std::string& path);

// For a path that is not there: "; make it: tandem pack …" if it is the name of a data set that
// people know; else empty.
std::string how_to_make(const std::string& path);

}  // namespace tandem::data
