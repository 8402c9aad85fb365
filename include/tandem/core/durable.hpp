// Changes to folders that are durable on return: after a power failure there is the state before or
// the state after. Thread-safe. Throws IoError, CannotCreateError if a folder or file cannot be
// made, MissingInputError if a file to read is missing.
#pragma once

#include <string>
#include <vector>

#include "tandem/core/touch.hpp"

namespace tandem {

// The folder that holds `path`; "." for a bare name.
std::string folder_of(const std::string& path);
// fsync of a folder: makes its names durable. A file system that does not support it is accepted.
void sync_folder(const std::string& path);
// Makes a folder and its missing parents. Returns those that it made, the outermost first.
std::vector<std::string> make_folders_durably(const std::string& path);
// Makes `to` another name of the file `from`, in place of what had that name. A copy takes the
// place of the name where the file system has no hard links.
void give_second_name(const std::string& from, const std::string& to, const Touch& touch = {});
void remove_if_there(const std::string& path);
// Renames a file, even to another file system. The folder of `to` must exist.
void move_durably(const std::string& from, const std::string& to);
// Whether both files exist and hold the same bytes. `touch` is called as they are read.
bool have_equal_bytes(const std::string& one, const std::string& other, const Touch& touch = {});

}  // namespace tandem
