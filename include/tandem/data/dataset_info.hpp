// Everything about a data set except its images.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/data/image_shape.hpp"

namespace tandem::data {

enum class Split { kTrain, kTest };

struct DatasetInfo {
  std::string name;                  // also a part of file names: no '/', no leading '.'
  std::vector<std::string> classes;  // a label is an index into it
  ImageShape shape;
  std::vector<double> mean;   // per channel, over the training images, pixels scaled to [0, 1]
  std::vector<double> std;    // likewise, of the population, above 0
  std::string source_sha256;  // 64 hex digits; what it covers depends on the source (docs: formats)
  // SHA-256 of the HDF5 part of the packed file, 64 hex digits: names the data set in manifests and
  // between ranks. Adding a user block does not change it.
  std::string digest;
  std::uint64_t train_count = 0;
  std::uint64_t test_count = 0;
  bool sealed = false;  // has a user block

  std::uint64_t count(Split split) const {
    return split == Split::kTrain ? train_count : test_count;
  }
};

}  // namespace tandem::data
