// Packs picture files into several packed files, the parts of one set (PackRequest::files). Each
// part appears only when it is complete. An existing part is kept if it has the same pictures and
// options and is not older than its pictures. The caller distributes the missing parts to ranks.
// One object at a time in a process; SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it as they end pack().
// Throws as pack() does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/data/dataset_info.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

// "train-003.h5" of the output "train.h5". `part`: from 1.
std::string part_path(const std::string& output, std::uint64_t part);
// "train-*.h5", the pattern of all parts.
std::string pattern_of_parts(const std::string& output);

class SetPacking {
 public:
  // Finds the pictures, and the size and time of each file. Reads no picture.
  explicit SetPacking(PackRequest request);
  ~SetPacking();
  SetPacking(const SetPacking&) = delete;
  SetPacking& operator=(const SetPacking&) = delete;

  // Identifies the set: SHA-256 of the options, and of name, label and size of each picture in the
  // order of packing.
  const std::string& set_id() const;
  // The parts that are not complete, ascending.
  std::vector<std::uint64_t> missing_parts() const;

  struct Packed {
    std::string broken;    // a line "path<TAB>reason" for each broken file
    std::string addition;  // to the message about them
    std::uint64_t turned_pictures = 0;

    void add(const Packed& other);
  };
  // Packs these parts, several at a time. Checks all pictures. A part with broken files is not
  // written, unless broken files are skipped.
  Packed pack(const std::vector<std::uint64_t>& parts);
  // Call it after all parts. Writes the list of broken files, and opens the whole set. `packed`:
  // the sum over all ranks. DataError if there are broken files and they are not skipped.
  DatasetInfo finish(const Packed& packed) const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tandem::data
