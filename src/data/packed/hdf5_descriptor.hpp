// An HDF5 file driver on an open descriptor: reads the file that was hashed even if another file
// has its name now. It also finds a chunk's offset and size. HDF5 1.10 has no call for these that
// does not walk through all chunks, so the driver records what HDF5 would read, without reading.
#pragma once

#include <exception>
#include <vector>

#include "hdf5_handle.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Opens a file for reading; the file and `fault` must outlive the handle. Throws DataError if HDF5
// does not accept it. HDF5 takes a read that fails for damage, now and later, so the IoError of the
// last such read is left in `fault`.
Hdf5Handle open_hdf5(const File& file, std::exception_ptr& fault);

// Finds the chunk whose first item is at `origin`; false if the file has none there.
bool find_chunk(hid_t dataset, const std::vector<hsize_t>& origin, StoredChunk& chunk);

}  // namespace tandem::data
