// Checks the files that pack() may replace, writes the list of broken files, and finishes packing.
// Throws CannotCreateError; IoError; UsageError.
#pragma once

#include <string>

#include "data/pictures/broken_files.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

// UsageError unless `name` is empty or can be the name of a data set.
void require_packable_name(const std::string& name);
// DataError if a channel of the training images never changes.
void require_variation(const DatasetInfo& info, const std::string& input);
// An older packed file may be replaced, but a slip of the hand must not destroy something else.
void require_replaceable(const std::string& path);
// Whether there are broken files shows only at the end.
void require_replaceable_list(const std::string& path);
// Whether the file begins with the mark of a list of broken files.
bool is_broken_list(const std::string& path);
// The lines of such a list after the mark; empty if there is none.
std::string read_broken_list(const std::string& path);
// Writes a list with these lines of list_of(), or removes the list if there are no lines.
void replace_broken_list(const std::string& path, const std::string& lines);

// Gives the output its name `path`, and lists the files that were skipped beside it.
void publish(AtomicFile& output, const std::string& path, const std::string& skipped);
// Writes the list of the broken files beside the output, and throws the error with its path.
[[noreturn]] void throw_listed(const PackRequest& request, const BrokenFilesError& error);

}  // namespace tandem::data
