// Names of the files of one set, such as train-003.h5. The digits before the extension are the
// number of the part.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::data {

// The path of another part of the set that `path` belongs to; empty if its name has no number.
std::string path_of_part(std::string path, std::uint64_t part);

// "train-*.h5" of "train-003.h5", as a word for a shell.
std::string pattern_of_part(std::string path);

}  // namespace tandem::data
