#include "moments.hpp"

#include <algorithm>
#include <cmath>

#include "data/parallel.hpp"

namespace tandem::data {

Moments::Moments(ImageShape shape)
    : shape_(shape), channels_(static_cast<std::size_t>(shape.channels)) {}

void Moments::add(const std::uint8_t* images, std::uint64_t count) {
  const std::size_t plane = shape_.plane();
  for (std::uint64_t image = 0; image < count; ++image) {
    for (auto& tables : channels_) {
      std::size_t i = 0;
      for (; i + kTables <= plane; i += kTables) {
        for (std::size_t table = 0; table < kTables; ++table) ++tables[table][images[i + table]];
      }
      for (; i < plane; ++i) ++tables[0][images[i]];
      images += plane;
    }
  }
  images_ += count;
}

std::vector<double> Moments::mean() const {
  std::vector<double> means;
  for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
    means.push_back(mean_of(channel) / 255);
  }
  return means;
}

std::vector<double> Moments::std() const {
  std::vector<double> deviations;
  for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
    const double mean = mean_of(channel);
    double sum = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      const double distance = static_cast<double>(value) - mean;
      sum += static_cast<double>(count_of(channel, value)) * distance * distance;
    }
    deviations.push_back(std::sqrt(sum / pixels()) / 255);
  }
  return deviations;
}

double Moments::mean_of(std::size_t channel) const {
  std::uint64_t sum = 0;
  for (std::size_t value = 0; value < 256; ++value) sum += value * count_of(channel, value);
  return static_cast<double>(sum) / pixels();
}

std::uint64_t Moments::count_of(std::size_t channel, std::size_t value) const {
  std::uint64_t count = 0;
  for (const Counts& table : channels_[channel]) count += table[value];
  return count;
}

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
