// What pack() may replace, and the list of broken files beside its output. Throws
// CannotCreateError; IoError.
#pragma once

#include <string>

#include "broken_files.hpp"

namespace tandem::data {

// An older packed file may be replaced, but a slip of the hand must not destroy something else.
void require_replaceable(const std::string& path);
// Whether there are broken files shows only at the end.
void require_replaceable_list(const std::string& path);
// Whether the file begins with the mark of a list of broken files.
bool is_broken_list(const std::string& path);
// `lines`: of list_of().
void write_broken_list(const std::string& path, const std::string& lines);

}  // namespace tandem::data
