// Writes the page of one run, or of several side by side: one HTML file without network access,
// script or other files. Throws what reading a run folder throws (metrics/run_record.hpp), and
// IoError or CannotCreateError if the page cannot be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::report {

// More cannot be distinguished.
constexpr std::size_t kMaxRuns = 32;

// Reads the folders and writes the page whole.
void write_report(const std::vector<std::string>& folders, const std::string& output);
// Writes the page of a run that is about to end; `summary` is its summary. All ranks wait for it,
// so it reads no more than a second or two permit.
constexpr std::uint64_t kMaxBytesAtEnd = std::uint64_t{128} << 20;
void write_report_at_end(const std::string& folder, const Json& summary, const std::string& output,
                         std::uint64_t most_bytes = kMaxBytesAtEnd);

}  // namespace tandem::report
