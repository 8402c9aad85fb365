// Looks at the parts of a compressed picture without decoding it: that it has a header and that all
// parts are there to its end. A thousandth of the time of decoding; pixels may still be damaged.
// Throws DataError naming `where`.
#pragma once

#include <string>
#include <string_view>

#include "tandem/data/image_file.hpp"

namespace tandem::data {

// `bytes`: a whole JPEG or PNG file.
PictureExtent check_picture_structure(std::string_view bytes, const std::string& where);

}  // namespace tandem::data
