// HDF5 on a file descriptor: the very file that was proven, whatever its name stands for now.
// It also finds where a chunk lies: HDF5 1.10 has no call for that which takes less than a walk
// through all chunks, so the driver notes what HDF5 would read, and reads nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "hdf5_handle.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Read-only. Throws DataError where HDF5 does not accept the file.
Hdf5Handle open_hdf5(const File& file);

// The place of the chunk whose first item is at `origin`; false where the file has none there.
bool find_chunk(hid_t dataset, const std::vector<hsize_t>& origin, StoredChunk& chunk);

}  // namespace tandem::data
