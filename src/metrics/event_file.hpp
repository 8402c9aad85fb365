// A TensorBoard event file: records with length and checksums. One thread at a time. Throws
// CannotCreateError if it cannot be made; IoError if a record cannot be written, and the file is
// then unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/file.hpp"

namespace tandem::metrics {

class EventFile {
 public:
  // A new file in `folder`, whose name sorts behind those of all that are there, because readers
  // take them in this order.
  explicit EventFile(const std::string& folder);

  // One write, so that a reader never sees a part of a record for long. A reader would lose all
  // that comes after half a record, so none is left.
  void append(std::string_view record);
  // fdatasync. Another thread may append meanwhile.
  void sync() { file_.sync(); }
  const std::string& path() const { return file_.path(); }

 private:
  File file_;
};

// Whether `folder` has an event file.
bool has_event_files(const std::string& folder);
// The length, its checksum, the record, its checksum.
std::string framed(std::string_view record);
// TensorFlow's masking, without which the CRC of data with CRCs in it says little.
std::uint32_t masked_crc32c(std::string_view data);

}  // namespace tandem::metrics
