// Packs picture files into several packed files, the parts of one set (PackRequest::files). Each
// appears only when it is complete. A part that is there already, of the same pictures and options
// and not older than its pictures, is kept. Between the calls, ranks share the parts among them.
// One object at a time in a process; SIGINT, SIGTERM and SIGHUP end it as they end pack(). Throws
// as pack() does.
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
// "train-*.h5", which names all parts.
std::string pattern_of_parts(const std::string& output);

class SetPacking {
 public:
  // Finds the pictures. Reads none, but asks for the size and time of each file.
  explicit SetPacking(PackRequest request);
  ~SetPacking();
  SetPacking(const SetPacking&) = delete;
  SetPacking& operator=(const SetPacking&) = delete;

  // What names the set: SHA-256 of the options, and of name, label and size of each picture in the
  // order in which they are packed.
  const std::string& set_id() const;
  // The parts that are to be packed, ascending.
  std::vector<std::uint64_t> missing_parts() const;

  struct Packed {
    std::string broken;    // a line "path<TAB>reason" for each broken file
    std::string addition;  // to the message about them
    std::uint64_t turned_pictures = 0;

    void add(const Packed& other);
  };
  // Packs these parts, several at a time. A part with broken files is left out unless they are
  // skipped, and all of them are checked.
  Packed pack(const std::vector<std::uint64_t>& parts);
  // After all parts: writes the list of broken files, and opens the whole set. `packed`: by all
  // ranks. DataError if there are broken files that are not to be skipped.
  DatasetInfo finish(const Packed& packed) const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tandem::data
