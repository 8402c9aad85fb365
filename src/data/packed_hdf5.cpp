#include "packed_hdf5.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "child_process.hpp"
#include "hdf5_descriptor.hpp"
#include "packed_attributes.hpp"
#include "packed_layout.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

// Finding a chunk takes microseconds, so these limits suffice for a valid file of any size.
ChildLimits limits_for(std::uint64_t file_bytes) {
  ChildLimits limits;
  limits.processor_seconds = 1 + file_bytes / (std::uint64_t{4} << 20);
  limits.time = std::chrono::seconds(60 + file_bytes / 100'000'000);
  limits.reply_bytes = max_encoded_bytes(file_bytes);
  return limits;
}

// A hostile file may crash the process.
PackedCatalog describe_packed(const File& file) {
  const Hdf5Silence silence;
  std::exception_ptr fault;
  try {
    const Hdf5Handle hdf5 = open_hdf5(file, fault);
    const std::uint64_t file_bytes = file.size();
    PackedCatalog catalog;
    read_attributes(hdf5.id(), file.path(), catalog);
    for (std::size_t i = 0; i < kGroups.size(); ++i) {
      catalog.splits[i] = describe_split(hdf5.id(), file.path(), kGroups[i], file_bytes);
    }
    return catalog;
  } catch (const DataError&) {
    if (fault) std::rethrow_exception(fault);
    throw;
  }
}

}  // namespace

PackedCatalog describe_packed_in_child(const File& file, const Touch& touch) {
  const std::uint64_t file_bytes = file.size();
  const auto work = [&] { return encode(describe_packed(file)); };
  const std::string reply = run_in_child(file, limits_for(file_bytes), work, touch);
  PackedCatalog catalog = decode_catalog(reply, file.path());
  require_sound(catalog, file_bytes, file.path());
  return catalog;
}

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace tandem::data
