// The arrays of a split in the memory that holds a data set (data::MemoryLayout). Throws what
// reading throws; UsageError if no image can be held out.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/span.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/packed_set.hpp"
#include "tandem/data/picture_blocks.hpp"

namespace tandem::train {

struct SplitMemory {
  Span<std::uint8_t> images;
  Span<data::PicturePlace> places;
  Span<data::Label> labels;
  Span<std::uint8_t> targets;
};

// `has_files`: of a set of picture files, whether they are in the memory.
SplitMemory memory_of(const data::DatasetInfo& info, data::Split split, bool has_files,
                      std::uint8_t* memory);

// Reads the split into its memory. `blocks`: of a set of picture files.
void read_split(const data::PackedSet& file, data::Split split, const data::PictureBlocks* blocks,
                const SplitMemory& to);

// Moves the held-out images behind the others, and returns their number. In a set of picture files,
// only their places move.
std::uint64_t hold_out_of(const data::DatasetInfo& info, const SplitMemory& train, double share,
                          const std::string& path, const Touch& touch);

}  // namespace tandem::train
