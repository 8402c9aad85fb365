// What: which images of a set without a test set become one. Owns: nothing. Threads: any.
// Throws: UsageError for a share that leaves one of the two empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

// The share of each class, to the nearest image, drawn by `seed`: for each image whether it is for
// testing. A class keeps at least one image for training, and gives one for testing where it has
// two. `where` begins the message.
std::vector<bool> draw_test_split(const std::vector<std::uint8_t>& labels, double share,
                                  std::uint64_t seed, const std::string& where);

}  // namespace tandem::data
