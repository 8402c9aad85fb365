#include "tandem/data/hold_out.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kSeed = 0;
constexpr std::size_t kTouchBytes = std::size_t{16} << 20;

// Moves element sources[i], of `size` bytes, to place i. It moves along the cycles of this
// permutation, so it needs memory for one element only.
void permute(std::vector<std::size_t> sources, std::size_t size, Span<std::uint8_t> elements,
             const Touch& touch) {
  const std::size_t between_touches = kTouchBytes / size + 1;
  std::vector<std::uint8_t> first(size);
  std::size_t moved = 0;
  const auto element = [&](std::size_t place) { return elements.data() + place * size; };
  for (std::size_t start = 0; start < sources.size(); ++start) {
    if (sources[start] == start) continue;
    std::copy_n(element(start), size, first.data());
    std::size_t place = start;
    while (sources[place] != start) {
      if (moved++ % between_touches == 0) call(touch);
      std::copy_n(element(sources[place]), size, element(place));
      place = std::exchange(sources[place], place);
    }
    std::copy(first.begin(), first.end(), element(place));
    sources[place] = place;
  }
}

}  // namespace

std::uint64_t hold_out(double share, std::size_t pixels, Span<std::uint8_t> images,
                       Span<Label> labels, const std::string& where, const Touch& touch) {
  const std::vector<bool> is_taken =
      draw_of_each_class({labels.begin(), labels.end()}, share, kSeed, "--validation-split", where);
  std::vector<std::size_t> kept_then_taken(is_taken.size());
  std::iota(kept_then_taken.begin(), kept_then_taken.end(), std::size_t{0});
  const auto taken = std::stable_partition(kept_then_taken.begin(), kept_then_taken.end(),
                                           [&](std::size_t image) { return !is_taken[image]; });
  permute(kept_then_taken, pixels, images, touch);
  permute(kept_then_taken, sizeof(Label),
          {reinterpret_cast<std::uint8_t*>(labels.data()), labels.size() * sizeof(Label)}, touch);
  return static_cast<std::uint64_t>(kept_then_taken.end() - taken);
}

std::vector<bool> draw_of_each_class(const std::vector<Label>& labels, double share,
                                     std::uint64_t seed, const std::string& option,
                                     const std::string& where) {
  std::vector<std::vector<std::size_t>> images_of;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= images_of.size()) images_of.resize(std::size_t{labels[i]} + 1);
    images_of[labels[i]].push_back(i);
  }
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
    throw UsageError(option + ": " + where + " has no class with two images, so a share of " +
                     format_real(share) + " selects no image");
  }
  return is_taken;
}

}  // namespace tandem::data
