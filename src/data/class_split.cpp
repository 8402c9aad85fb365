#include "class_split.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {

std::vector<bool> draw_of_each_class(const std::vector<std::uint8_t>& labels, double share,
                                     std::uint64_t seed, const std::string& option,
                                     const std::string& where) {
  std::array<std::vector<std::size_t>, 256> images_of;
  for (std::size_t i = 0; i < labels.size(); ++i) images_of[labels[i]].push_back(i);
  std::vector<bool> is_taken(labels.size());
  for (std::size_t label = 0; label < images_of.size(); ++label) {
    const std::vector<std::size_t>& images = images_of[label];
    if (images.size() < 2) continue;
    const double wanted = std::round(share * static_cast<double>(images.size()));
    const std::size_t count =
        std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, images.size() - 1);
    const auto order = permutation(static_cast<std::uint32_t>(images.size()), seed, label);
    for (std::size_t i = 0; i < count; ++i) is_taken[images[order[i]]] = true;
  }
  if (std::find(is_taken.begin(), is_taken.end(), true) == is_taken.end()) {
    throw UsageError(option + ": " + where + " has no class of two images, so that " +
                     format_real(share) + " of it is no image");
  }
  return is_taken;
}

}  // namespace tandem::data
