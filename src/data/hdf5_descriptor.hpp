// An HDF5 file driver on an open descriptor: reads the file that was hashed even if another file
// has its name now. It also finds a chunk's offset and size. HDF5 1.10 has no call for these that
// does not walk through all chunks, so the driver records what HDF5 would read, without reading.
#pragma once

#include <cstdint>
#include <vector>

#include "hdf5_handle.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Read-only. Throws DataError if HDF5 does not accept the file.
Hdf5Handle open_hdf5(const File& file);

// Finds the chunk whose first item is at `origin`; false if the file has none there.
bool find_chunk(hid_t dataset, const std::vector<hsize_t>& origin, StoredChunk& chunk);

}  // namespace tandem::data
