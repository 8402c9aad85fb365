// The only reader of packed files that calls HDF5.
#pragma once

#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Parses the file in a child process, whose crash, hang or flood of memory is a DataError here.
// What it sends is held to require_sound(). Forks: the child calls neither MPI nor CUDA.
// `touch` is called once a second meanwhile.
PackedCatalog describe_packed_in_child(const File& file, const Touch& touch);

}  // namespace tandem::data
