// The mark that tandem leaves in files for users, so that it replaces its own files only
// (docs/formats.md). Throws CannotCreateError, IoError.
#pragma once

#include <string>

namespace tandem {

// The name of the entry in a ZIP archive (.pth, .pt), and its content.
inline constexpr char kMarkEntry[] = "tandem.txt";
inline constexpr char kMarkText[] = "written by tandem\n";
// The name of the generator in a page, and the key of the metadata of a .safetensors.
inline constexpr char kMarkGenerator[] = "tandem ";
inline constexpr char kMarkKey[] = "tandem_version";

// Whether tandem wrote this .html, .safetensors, .pth or .pt. Reads its first and last bytes only.
// Finds no mark in a .pth or .pt of a version before 2026-11-25.
bool has_mark(const std::string& path);

// Refuses a path with a file that has no mark. With --force the caller skips this check.
void require_replaceable(const std::string& path);

}  // namespace tandem
