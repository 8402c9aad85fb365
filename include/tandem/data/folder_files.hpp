// The files of a folder and its subfolders. Throws MissingInputError, IoError.
#pragma once

#include <string>
#include <vector>

namespace tandem::data {

// Sorted by the bytes of their paths, which begin with `folder`. Names that begin with a dot are
// ignored; links are followed.
std::vector<std::string> files_below(const std::string& folder);

}  // namespace tandem::data
