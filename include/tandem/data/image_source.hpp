// Labeled images before they are packed: a published form on disk, or the generator of the built-in
// data set. One thread per object. Throws DataError, MissingInputError, IoError.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  // Name, classes, shape and counts; the rest is the packer's to fill in. Every label is below the
  // number of classes.
  virtual const DatasetInfo& info() const = 0;
  // May wait until it has been computed.
  virtual std::string source_sha256() = 0;
  // Images [first, first + count) of a split: count * pixels() bytes in NCHW order, count labels.
  virtual void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
                    std::uint8_t* labels) const = 0;
};

}  // namespace tandem::data
