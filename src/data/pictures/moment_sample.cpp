#include "moment_sample.hpp"

#include <algorithm>
#include <vector>

#include "data/parallel.hpp"

namespace tandem::data {

std::optional<Moments> sample_moments(
    std::uint64_t count, const ImageShape& shape, int threads,
    const std::function<bool(std::uint64_t index, std::uint8_t* image)>& read) {
  constexpr std::uint64_t kAtOnce = 16;
  const std::uint64_t sampled = std::min(count, kSampledPictures);
  const std::size_t pixels = shape.pixels();
  std::vector<std::uint8_t> images(std::min(sampled, kAtOnce) * pixels);
  std::vector<char> is_read(kAtOnce);
  Moments moments(shape);
  bool has_any = false;
  for (std::uint64_t first = 0; first < sampled; first += kAtOnce) {
    const std::uint64_t some = std::min(kAtOnce, sampled - first);
    for_each_index(some, threads, [&](std::size_t i) {
      is_read[i] = read((first + i) * count / sampled, images.data() + i * pixels) ? 1 : 0;
    });
    for (std::uint64_t i = 0; i < some; ++i) {
      if (is_read[i] == 0) continue;
      moments.add(images.data() + i * pixels, 1);
      has_any = true;
    }
  }
  if (!has_any) return std::nullopt;
  return moments;
}

}  // namespace tandem::data
