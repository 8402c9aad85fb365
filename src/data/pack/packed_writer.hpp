// Writes the HDF5 part of a packed file and leaves room for the user block in front of it. One
// thread at a time. Throws Error (74) naming `path`, and errors of `between_blocks` and of the
// source.
#pragma once

#include <functional>
#include <string>

#include "data/pixel_sources/image_source.hpp"

namespace tandem::data {

// Writes to `path`, an existing file, and returns the source's info with name, classes, mean, std
// and source_sha256 filled in. `name` replaces the source's unless empty. Equal input gives equal
// bytes. `between_blocks` is called every few thousand small or few large images and may throw to
// stop the work.
DatasetInfo write_packed(const std::string& path, ImageSource& source, const std::string& name,
                         const std::function<void()>& between_blocks);

}  // namespace tandem::data
