#include "tandem/data/hold_out.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kSeed = 0;
constexpr std::size_t kTouchBytes = std::size_t{16} << 20;

// Moves the elements of `size` bytes that are taken behind the others.
void partition(const std::vector<bool>& is_taken, std::size_t size, Span<std::uint8_t> elements,
               const Touch& touch) {
  const std::size_t between_touches = kTouchBytes / size + 1;
  std::vector<std::uint8_t> taken;
  std::uint8_t* to = elements.data();
  for (std::size_t i = 0; i < is_taken.size(); ++i) {
    if (i % between_touches == 0) call(touch);
    const std::uint8_t* from = elements.data() + i * size;
    if (is_taken[i]) {
      taken.insert(taken.end(), from, from + size);
    } else {
      to = std::copy(from, from + size, to);
    }
  }
  std::copy(taken.begin(), taken.end(), to);
}

}  // namespace

std::uint64_t hold_out(double share, std::size_t pixels, Span<std::uint8_t> images,
                       Span<Label> labels, const std::string& where, const Touch& touch) {
  const std::vector<bool> is_taken =
      draw_of_each_class({labels.begin(), labels.end()}, share, kSeed, "--validation-split", where);
  partition(is_taken, pixels, images, touch);
  partition(is_taken, sizeof(Label),
            {reinterpret_cast<std::uint8_t*>(labels.data()), labels.size() * sizeof(Label)}, touch);
  return static_cast<std::uint64_t>(std::count(is_taken.begin(), is_taken.end(), true));
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
