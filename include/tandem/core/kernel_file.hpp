// Reads files of /proc and of control groups. A missing number is absent; nothing throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

// The text of the file; absent if it cannot be read.
std::optional<std::string> read_kernel_file(const std::string& path);

// The number after `name` in lines "name number" or "name: number kB"; kB are converted to bytes.
std::optional<std::uint64_t> field_of(std::string_view text, std::string_view name);

// Field `number`, from 3, of the text of /proc/PID/stat, counted as in proc(5); "" if absent.
std::string field_of_stat(std::string_view text, int number);

}  // namespace tandem
