// Reads the EXIF orientation of a JPEG file. Safe for any bytes.
#pragma once

#include <string_view>

namespace tandem::data {

// The orientation tag of the first EXIF segment before the picture (JEITA CP-3451): 1 to 8, and 1
// if there is none or if it is malformed. Follows one chain of segments and one list of tags.
int exif_orientation(std::string_view jpeg);

}  // namespace tandem::data
