// Checks the structure of a compressed picture without decoding it: it has a header, and all parts
// are there to its end. Takes a thousandth of the time of decoding. Pixels may still be damaged.
// Throws DataError naming `where`.
#pragma once

#include <string>
#include <string_view>

#include "tandem/data/image_file.hpp"

namespace tandem::data {

// `bytes`: a whole JPEG or PNG file.
PictureExtent check_picture_structure(std::string_view bytes, const std::string& where);

}  // namespace tandem::data
