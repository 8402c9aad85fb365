// Makes an image from a region of a picture file. Decodes only the rows and columns that the region
// needs, and resizes them as RegionResizer does. The region is one of the picture after EXIF
// rotation. Throws DataError naming the file, and what `choose` throws.
#pragma once

#include <cstdint>
#include <functional>

#include "data/augment/resize_region.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::data {

// A region of the upright picture, for its height and width.
using ChooseRegion = std::function<Region(int height, int width)>;

// `out`: a planar image of the shape.
void make_region(const StoredPicture& file, const ChooseRegion& choose, Decoding decoding,
                 ImageShape shape, RegionResizer& resizer, std::uint8_t* out);

}  // namespace tandem::data
