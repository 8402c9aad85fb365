// What: the datasets of a packed file, opened after every property that could harm has been
// checked. Owns: the HDF5 datasets. Threads: as the HDF5 library. Throws: DataError naming file,
// object, found and expected.
#pragma once

#include <cstdint>
#include <string>

#include "hdf5_handle.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

struct SplitDatasets {
  Hdf5Handle images;  // uint8 [count, C, H, W]
  Hdf5Handle labels;  // uint8 [count]
  ImageShape shape;
  std::uint64_t count = 0;
};

// `group`: "/train" or "/test".
SplitDatasets open_split(hid_t file, const std::string& path, const std::string& group);

}  // namespace tandem::data
