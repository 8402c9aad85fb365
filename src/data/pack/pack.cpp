#include "tandem/data/pack.hpp"

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "data/packed/user_block.hpp"
#include "data/picture_sources/encoded_source.hpp"
#include "data/pictures/broken_files.hpp"
#include "data/pictures/moments.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "encoded_pack.hpp"
#include "pack_output.hpp"
#include "pack_source.hpp"
#include "packed_writer.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/data/dataset_info.hpp"
#include "version2_writer.hpp"

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

// Returns the moments of the images written.
Moments write_split(Version2Writer& writer, Split split, const ImageSource& source,
                    const std::function<void()>& check) {
  const DatasetInfo& info = source.info();
  const std::size_t pixels = info.shape.pixels();
  const std::uint64_t count = info.count(split);
  const std::uint64_t at_once = std::max<std::uint64_t>(kReadBytes / pixels, 1);
  std::vector<std::uint8_t> values(std::min(at_once, count) * pixels);
  std::vector<Label> labels(std::min(at_once, count));
  Moments moments(info.shape);
  for (std::uint64_t first = 0; first < count; first += at_once) {
    check();
    const std::uint64_t size = std::min(at_once, count - first);
    source.read(split, first, size, values.data(), labels.data());
    moments.add(values.data(), size);
    for (std::uint64_t i = 0; i < size; ++i) {
      writer.add(split, {values.data() + i * pixels, pixels}, {&labels[i], 1});
    }
  }
  return moments;
}

// Packs images as pixels in version 2. Version 1 cannot hold more than 256 classes.
DatasetInfo write_version2(AtomicFile& output, ImageSource& source, const std::string& name,
                           const std::function<void()>& check) {
  Version2Writer writer(output.file(), output.temporary_path(), Store::kPixels);
  const Moments moments = write_split(writer, Split::kTrain, source, check);
  write_split(writer, Split::kTest, source, check);
  source.require_whole();
  writer.finish_pictures();
  DatasetInfo info = source.info();
  if (!name.empty()) info.name = name;
  info.mean = moments.mean();
  info.std = moments.std();
  info.source_sha256 = source.source_sha256();
  writer.finish(info, source.skipped_files());
  return info;
}

DatasetInfo write_pixels(const PackRequest& request, AtomicFile& output,
                         const std::function<void()>& check, ImageSource& source) {
  const bool is_version2 = source.has_wide_labels();
  DatasetInfo info = is_version2
                         ? write_version2(output, source, request.name, check)
                         : write_packed(output.temporary_path(), source, request.name, check);
  require_variation(info, request.input);
  if (is_version2) return info;
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
