// Reads lines of a file of any size that another process may be writing. Throws IoError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "tandem/core/file.hpp"

namespace tandem::metrics {

// A longer line is not held in memory; an empty one stands for it.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// Receives a line without its end, and the offset of the next line. Returns false to stop.
using TakeLine = std::function<bool(std::string_view line, std::uint64_t end)>;

// The lines that begin and end in [from, to).
void read_lines(const File& file, std::uint64_t from, std::uint64_t to, const TakeLine& take);

}  // namespace tandem::metrics
