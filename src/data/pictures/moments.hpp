// Mean and standard deviation of every channel over many images, exact and independent of their
// order, because they follow from counts of the 256 values. One thread per object.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class Moments {
 public:
  explicit Moments(ImageShape shape);

  // `count` images, NCHW.
  void add(const std::uint8_t* images, std::uint64_t count);
  // Per channel, pixels scaled to [0, 1]; at least one image must have been added.
  std::vector<double> mean() const;
  std::vector<double> std() const;  // of the population

 private:
  // Neighboring pixels are often equal; counting them in different tables lets the processor add
  // them at the same time.
  static constexpr std::size_t kTables = 4;
  using Counts = std::array<std::uint64_t, 256>;

  double mean_of(std::size_t channel) const;  // in [0, 255]
  std::uint64_t count_of(std::size_t channel, std::size_t value) const;
  double pixels() const {
    return static_cast<double>(images_) * static_cast<double>(shape_.plane());
  }

  ImageShape shape_;
  std::uint64_t images_ = 0;
  std::vector<std::array<Counts, kTables>> channels_;
};

constexpr std::uint64_t kSampledPictures = 256;

// The moments of a sample of the training pictures of a set of picture files, because decoding all
// of them could take hours. The sample depends only on their number: up to 256, evenly spaced.
// `read` writes the pixels of a picture and returns whether it can be decoded. It may be called on
// several threads. Returns nothing if no picture can be decoded.
std::optional<Moments> sample_moments(
    std::uint64_t count, const ImageShape& shape, int threads,
    const std::function<bool(std::uint64_t index, std::uint8_t* image)>& read);

}  // namespace tandem::data
