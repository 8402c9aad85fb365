// The only reader of packed files that calls HDF5.
#pragma once

#include "packed_catalog.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

// Parses the file in this process: a hostile file may crash it.
PackedCatalog describe_packed(const File& file);

// The same in a child process: if it crashes, hangs or needs too much memory, throws DataError. The
// result has passed require_sound(). Forks; the child calls neither MPI nor CUDA.
PackedCatalog describe_packed_in_child(const File& file);

}  // namespace tandem::data
