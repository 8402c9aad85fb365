#include "tandem/data/pack.hpp"

#include <fcntl.h>

#include <functional>
#include <memory>
#include <utility>

#include "data/packed/user_block.hpp"
#include "data/picture_sources/encoded_source.hpp"
#include "data/pictures/broken_files.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "encoded_pack.hpp"
#include "pack_output.hpp"
#include "pack_source.hpp"
#include "packed_writer.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/data/dataset_info.hpp"
#include "version2_pixels.hpp"

namespace tandem::data {
namespace {

// Puts the user block before the HDF5 part that the file holds; returns the digest of that part.
std::string seal_in_place(File& file) {
  // Hashing and the disk take turns otherwise: let it begin now what commit() will wait for.
  ::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  const UserBlock block{file.size() - kUserBlockBytes, sha256_of_file(file, kUserBlockBytes), 1, 0};
  const std::string bytes = encode_user_block(block);
  file.write_at(0, bytes.data(), bytes.size());
  return block.sha256;
}

DatasetInfo write_pixels(const PackRequest& request, AtomicFile& output,
                         const std::function<void()>& check, ImageSource& source) {
  const std::string& path = output.temporary_path();
  if (source.has_wide_labels()) {
    DatasetInfo info = write_version2_pixels(output.file(), path, source, request.name, check);
    require_variation(info, request.input);
    return info;
  }
  DatasetInfo info = write_packed(path, source, request.name, check);
  require_variation(info, request.input);
  info.digest = seal_in_place(output.file());
  info.sealed = true;
  return info;
}

DatasetInfo write_sealed(const PackRequest& request, const std::function<void()>& check) {
  if (request.store == Store::kEncoded) {
    return pack_encoded(request, *open_encoded_source(request, check), {}, check);
  }
  const std::unique_ptr<ImageSource> source = open_source(request, check);
  require_replaceable(request.output);
  AtomicFile output(request.output);
  DatasetInfo info = write_pixels(request, output, check, *source);
  check();
  publish(output, request.output, list_of(source->skipped_files(), request.input));
  return info;
}

}  // namespace

DatasetInfo pack(const PackRequest& request) {
  const InterruptGuard interrupts;
  require_packable_name(request.name);
  require_replaceable_list(broken_list_path(request.output));
  try {
    return write_sealed(request, [&] { interrupts.check(); });
  } catch (const BrokenFilesError& error) {
    throw_listed(request, error);
  }
}

}  // namespace tandem::data
