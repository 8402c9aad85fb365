// What: an HDF5 file that is written to a disk which may be full. After a failed write HDF5 1.10
// writes the same again when anything is closed, and ends the process by a signal when that fails,
// too. So its driver here tells it of no failure and keeps the first for check(). Module-private.
// Owns: the file. Threads: one at a time. Throws: Error (74) naming the path.
#pragma once

#include <memory>
#include <string>

#include "hdf5_handle.hpp"

namespace tandem::data {

class Hdf5Output {
 public:
  // `path`: an existing file, of which nothing is kept. HDF5's part begins behind `user_block`.
  Hdf5Output(const std::string& path, hsize_t user_block);
  ~Hdf5Output();

  hid_t id() const { return file_.id(); }
  // Throws where HDF5 refused, or something could not be written so far.
  void check(herr_t code, const char* what) const;
  // What was made, owned.
  Hdf5Handle made(hid_t id, Hdf5Handle::Close by, const char* what) const;
  // Writes the rest.
  void close();

 private:
  struct Target;
  static H5FD_class_t driver_class();

  std::unique_ptr<Target> target_;
  Hdf5Handle driver_;
  Hdf5Handle file_;
};

}  // namespace tandem::data
