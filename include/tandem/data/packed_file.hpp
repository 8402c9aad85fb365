// What: a packed data set, open for reading. Owns: the HDF5 file. Threads: one per object.
// Throws: MissingInputError, IoError; DataError for a file that is damaged or not a data set.
//
// The constructor reads the file once to prove its digest, and only then lets the HDF5 library
// parse it; then the structure is checked before anything of a size that the file claims is
// allocated. Plugin filters are switched off for the process. A file without user block cannot be
// proved undamaged, and a hostile one could upset the HDF5 library: call probe_in_child() first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/core/touch.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class PackedFile {
 public:
  // `touch`: while it reads.
  explicit PackedFile(const std::string& path, const Touch& touch = {});
  ~PackedFile();
  PackedFile(PackedFile&&) noexcept;
  PackedFile& operator=(PackedFile&&) noexcept;

  const DatasetInfo& info() const;
  // Images [first, first + count) of a split: count * shape.pixels() bytes in NCHW order, count
  // labels, each below the number of classes. Checksums of the chunks read are tested.
  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            std::uint8_t* labels) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Of the library at run time, "1.10.8".
std::string hdf5_version();

}  // namespace tandem::data
