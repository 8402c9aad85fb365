// An HDF5 file on a disk that may be full. After a failed write HDF5 1.10 writes the same data
// again when it closes anything; if that fails, too, it ends the process by a signal. So this
// driver hides failures from HDF5 and keeps the first one for check(). One thread at a time. Throws
// Error (74) naming the path.
#pragma once

#include <memory>
#include <string>

#include "data/packed/hdf5_handle.hpp"

namespace tandem::data {

class Hdf5Output {
 public:
  // Whether HDF5 finds the file empty, or lays its objects around what it already holds.
  enum class Content { kNone, kKept };
  // Bytes that HDF5 reserves at a time for its own data, if content is kept. All data before the
  // arrays fits into one such block, so the place of the first array does not depend on its length.
  static constexpr hsize_t kMetadataBytes = hsize_t{1} << 16;

  // `path`: an existing file, which is overwritten. HDF5's part begins after the user block.
  explicit Hdf5Output(const std::string& path, Content content = Content::kNone);
  ~Hdf5Output();

  hid_t id() const { return file_.id(); }
  // Throws if HDF5 failed, or if any write failed so far.
  void check(herr_t code, const char* what) const;
  // Checks a created object and takes ownership of it.
  Hdf5Handle made(hid_t id, Hdf5Handle::Close by, const char* what) const;
  // Writes the rest and checks that nothing failed.
  void close();

 private:
  struct Target;

  std::unique_ptr<Target> target_;
  Hdf5Handle driver_;
  Hdf5Handle file_;
};

}  // namespace tandem::data
