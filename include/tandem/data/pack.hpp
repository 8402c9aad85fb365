// What: turns a data set in a published form, or the built-in one, into a packed file.
// Owns: nothing. Threads: one at a time in a process; SIGINT, SIGTERM and SIGHUP end it cleanly.
// Throws: UsageError, MissingInputError, DataError, CannotCreateError, IoError; Error 128 + n when
// signal n arrived. In every case nothing is left behind, and an older output is left as it was.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/data/dataset_info.hpp"
#include "tandem/data/synthetic.hpp"

namespace tandem::data {

struct PackRequest {
  std::string input;  // a folder, an archive, or the word "synthetic"
  std::string output;
  std::string format = "auto";                     // auto, cifar10, mnist or synthetic
  std::string name;                                // empty: that of the format
  std::string classes_file;                        // one class a line; empty: those of the format
  std::uint64_t images = kDefaultSyntheticImages;  // of the built-in data set
  std::uint64_t seed = 0;                          // likewise
};

// The output appears under its name, sealed and durable, only when it is complete. Equal input
// gives equal bytes.
DatasetInfo pack(const PackRequest& request);

}  // namespace tandem::data
