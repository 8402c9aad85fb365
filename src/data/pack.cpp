#include "tandem/data/pack.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <utility>

#include "broken_files.hpp"
#include "encoded_pack.hpp"
#include "encoded_source.hpp"
#include "image_source.hpp"
#include "name_rules.hpp"
#include "pack_output.hpp"
#include "pack_source.hpp"
#include "packed_writer.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/data/dataset_info.hpp"
#include "user_block.hpp"
#include "version2_pixels.hpp"

namespace tandem::data {
namespace {

void require_variation(const DatasetInfo& info, const std::string& input) {
  for (std::size_t channel = 0; channel < info.std.size(); ++channel) {
    if (info.std[channel] >= kSmallestDeviation) continue;
    throw DataError(input + ": channel " + std::to_string(channel) +
                    " has the same value in all training images, real images were expected");
  }
}

// Puts the user block before the HDF5 part that the file holds; returns the digest of that part.
std::string seal_in_place(File& file) {
  // Hashing and the disk take turns otherwise: let it begin now what commit() will wait for.
  ::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  const UserBlock block{file.size() - kUserBlockBytes, sha256_of_file(file, kUserBlockBytes), 1, 0};
  const std::string bytes = encode_user_block(block);
  file.write_at(0, bytes.data(), bytes.size());
  return block.sha256;
}

struct Written {
  DatasetInfo info;
  BrokenFiles skipped;  // with paths within `root`
  std::string root;
};

Written write_pixels(const PackRequest& request, AtomicFile& output,
                     const std::function<void()>& check, ImageSource& source) {
  const std::string& path = output.temporary_path();
  if (source.has_wide_labels()) {
    DatasetInfo info = write_version2_pixels(output.file(), path, source, request.name, check);
    require_variation(info, request.input);
    return {std::move(info), source.skipped_files(), request.input};
  }
  DatasetInfo info = write_packed(path, source, request.name, check);
  require_variation(info, request.input);
  info.digest = seal_in_place(output.file());
  info.sealed = true;
  return {std::move(info), source.skipped_files(), request.input};
}

// Lists the skipped files, and gives the output its name.
DatasetInfo publish(const PackRequest& request, AtomicFile& output, Written written,
                    const std::function<void()>& check) {
  check();
  const BrokenFiles& skipped = written.skipped;
  const std::string list = broken_list_path(request.output);
  if (!skipped.empty()) write_broken_list(list, list_of(skipped, written.root));
  const bool is_outdated = skipped.empty() && is_broken_list(list);  // of an earlier attempt
  output.commit();
  if (is_outdated) ::unlink(list.c_str());
  return std::move(written.info);
}

DatasetInfo write_sealed(const PackRequest& request, const std::function<void()>& check) {
  if (request.store == Store::kPixels) {
    const std::unique_ptr<ImageSource> source = open_source(request, check);
    require_replaceable(request.output);
    AtomicFile output(request.output);
    return publish(request, output, write_pixels(request, output, check, *source), check);
  }
  const std::unique_ptr<EncodedSource> source = open_encoded_source(request, check);
  require_replaceable(request.output);
  AtomicFile output(request.output);
  EncodedPacked packed =
      write_encoded(request, *source, output.file(), output.temporary_path(), check);
  require_variation(packed.info, request.input);
  return publish(request, output,
                 {std::move(packed.info), std::move(packed.skipped), source->root()}, check);
}

}  // namespace

DatasetInfo pack(const PackRequest& request) {
  const InterruptGuard interrupts;
  if (!request.name.empty() && !is_dataset_name(request.name)) {
    throw UsageError("--name: is '" + request.name + "', " + kDatasetNameRule);
  }
  const std::string list = broken_list_path(request.output);
  require_replaceable_list(list);
  try {
    return write_sealed(request, [&] { interrupts.check(); });
  } catch (const BrokenFilesError& error) {
    std::string listed = "; " + list + " lists them";
    std::string unlisted;
    try {
      write_broken_list(list, list_of(error.files()));
    } catch (const Error& failure) {  // it must not hide the broken files
      listed.clear();
      unlisted = std::string("; the list could not be written: ") + failure.what();
    }
    throw BrokenFilesError(request.input, error.files(),
                           error.addition() + listed + "; repair or remove them" +
                               (request.skip_broken ? "" : ", or add --skip-broken") + unlisted);
  }
}

}  // namespace tandem::data
