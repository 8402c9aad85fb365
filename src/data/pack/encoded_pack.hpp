// Packs picture files as they are. One call at a time. Throws as pack() does.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "data/picture_sources/encoded_source.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

// One of several files that are written at the same time.
struct PackPart {
  std::uint64_t part = 0;   // from 1
  std::uint64_t parts = 0;  // 0: one file holds the set
  std::string set_id = {};
  int at_once = 1;  // parts that share threads and memory
  std::mutex* hdf5 = nullptr;
};

// The numbers of a split's pictures in the order in which they are packed.
std::vector<std::uint32_t> packing_order(const PackRequest& request, const EncodedSource& source,
                                         Split split);
// The range of this order that a part holds. The parts together are the whole order.
struct OrderRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
OrderRange range_of_part(std::uint64_t count, std::uint64_t part, std::uint64_t parts);

// Packs the pictures of a part into `request.output`, which appears when it is complete, and writes
// or removes its list of broken files. `check` is called between pictures and may throw to end the
// work. Files that the source itself cannot use belong to the first part. BrokenFilesError for
// broken files unless they are skipped, and if no picture of a split is left.
DatasetInfo pack_encoded(const PackRequest& request, EncodedSource& source, const PackPart& part,
                         const std::function<void()>& check);

}  // namespace tandem::data
