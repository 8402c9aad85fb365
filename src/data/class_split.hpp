// Selects the images that become a set of their own. Throws UsageError if no class has an image to
// spare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

// Draws the share of each class by `seed`, to the nearest image: for each image whether it is
// taken. A class keeps at least one image, and gives one if it has two. `option` and `where` begin
// the message.
std::vector<bool> draw_of_each_class(const std::vector<std::uint8_t>& labels, double share,
                                     std::uint64_t seed, const std::string& option,
                                     const std::string& where);

}  // namespace tandem::data
