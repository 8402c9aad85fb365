// The datasets of a packed file as HDF5 describes them. HDF5 parses untrusted bytes here, so call
// it only in a child process. Throws DataError naming file, object, found and expected.
#pragma once

#include <cstdint>
#include <string>

#include "hdf5_handle.hpp"
#include "packed_catalog.hpp"

namespace tandem::data {

// `group`: "/train" or "/test". `file_bytes` limits the number of chunks.
StoredSplit describe_split(hid_t file, const std::string& path, const std::string& group,
                           std::uint64_t file_bytes);

}  // namespace tandem::data
