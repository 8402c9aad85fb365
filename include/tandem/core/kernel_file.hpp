// What: files in which the kernel writes numbers, as those of /proc and of control groups.
// Owns: nothing. Threads: any. Throws: nothing; a number that is not there is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

// The file's text, read in one go as files of the kernel want to be; nothing where it cannot be.
std::optional<std::string> read_kernel_file(const std::string& path);

// The number behind `name` in lines "name number" or "name: number kB"; kB are made bytes.
std::optional<std::uint64_t> field_of(std::string_view text, std::string_view name);

}  // namespace tandem
