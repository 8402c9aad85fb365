// What is required of every source of images that could be opened. Throws DataError.
#pragma once

#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "target.hpp"

namespace tandem::fuzz {

// Reads all images and labels, and the digest.
inline void read_images(data::ImageSource& source) {
  const data::DatasetInfo info = source.info();
  for (const data::Split split : {data::Split::kTrain, data::Split::kTest}) {
    const std::uint64_t count = split == data::Split::kTrain ? info.train_count : info.test_count;
    std::vector<std::uint8_t> images(count * info.shape.pixels());
    std::vector<data::Label> labels(count);
    source.read(split, 0, count, images.data(), labels.data());
    for (const data::Label label : labels) {
      require(label < info.classes.size(), "every label is a class");
    }
  }
  require(source.source_sha256().size() == 64, "the digest has 64 digits");
}

}  // namespace tandem::fuzz
