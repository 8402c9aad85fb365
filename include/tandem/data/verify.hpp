// Verifies a packed file completely, and seals one that other software packed. One call at a time
// in a process. Throws DataError naming the first fault, MissingInputError, CannotCreateError,
// IoError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

struct VerifyReport {
  DatasetInfo info;
  std::uint64_t file_bytes = 0;
  std::vector<std::uint64_t> train_per_class;  // images, by label
  std::vector<std::uint64_t> test_per_class;
};

// Digest, structure, the checksum of every chunk, every label, and mean and std computed again.
VerifyReport verify_dataset(const std::string& path);

// Verifies the file, then puts a user block in front: a new file, renamed over the old one. Returns
// false, without changes, if it has one.
bool seal(const std::string& path);
// The warning about a file without a user block.
std::string unsealed_warning(const std::string& path);

}  // namespace tandem::data
