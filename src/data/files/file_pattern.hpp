// Files that one word names: a path, a shell pattern (train-*.h5), numbers and lists in braces as
// bash expands them (train-{000..009}.tar, {train,more}.tar), or several of these with commas
// between them. Throws MissingInputError naming a file that is not there; UsageError; IoError.
#pragma once

#include <string>
#include <vector>

namespace tandem::data {

// Whether the word is a pattern or a list, and no file has exactly this name.
bool is_file_pattern(const std::string& word);
// Sorted by bytes. If a file has exactly this name, only that one. UsageError for a file that is
// named twice.
std::vector<std::string> files_of_pattern(const std::string& word);

}  // namespace tandem::data
