// Packs images as pixels in version 2. Version 1 cannot hold more than 256 classes. One call at a
// time. Throws IoError naming the file, and errors of `between_blocks` and of the source.
#pragma once

#include <functional>
#include <string>

#include "data/pixel_sources/image_source.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Writes `output`, whose name is `path`, to its end, sealed. Otherwise as write_packed().
DatasetInfo write_version2_pixels(File& output, const std::string& path, ImageSource& source,
                                  const std::string& name,
                                  const std::function<void()>& between_blocks);

}  // namespace tandem::data
