#include "pack_output.hpp"

#include <unistd.h>

#include <string_view>

#include "data/files/byte_stream.hpp"
#include "data/files/name_rules.hpp"
#include "data/packed/user_block.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {
namespace {

// The first line of a list of broken files.
constexpr std::string_view kListMark = "# tandem pack: files that cannot be packed, and why\n";

}  // namespace

void require_packable_name(const std::string& name) {
  if (name.empty() || is_dataset_name(name)) return;
  throw UsageError("--name: is '" + name + "', " + kDatasetNameRule);
}

void require_variation(const DatasetInfo& info, const std::string& input) {
  for (std::size_t channel = 0; channel < info.std.size(); ++channel) {
    if (info.std[channel] >= kSmallestDeviation) continue;
    throw DataError(input + ": channel " + std::to_string(channel) +
                    " has the same value in all training images, real images were expected");
  }
}

void require_replaceable(const std::string& path) {
  if (!is_regular_file(path)) return;  // AtomicFile refuses folders and devices
  std::string start(kUserBlockBytes + kHdf5Signature.size(), '\0');
  start.resize(File::open_for_reading(path).read_at(0, start.data(), start.size()));
  if (begins_with(start, kHdf5Signature)) return;
  if (start.find(kHdf5Signature, kUserBlockBytes) == kUserBlockBytes) return;
  throw CannotCreateError(path +
                          ": exists already and is not a packed data set; choose another --output, "
                          "or remove it first");
}

bool is_broken_list(const std::string& path) {
  if (!is_regular_file(path)) return false;
  std::string start(kListMark.size(), '\0');
  const File file = File::open_for_reading(path);
  return file.read_at(0, start.data(), start.size()) == start.size() && start == kListMark;
}

void require_replaceable_list(const std::string& path) {
  if (!is_regular_file(path) || is_broken_list(path)) return;
  throw CannotCreateError(path +
                          ": exists already and is not a list of broken files; choose another "
                          "--output, or remove it first");
}

std::string read_broken_list(const std::string& path) {
  return is_broken_list(path) ? read_file(path).substr(kListMark.size()) : "";
}

void replace_broken_list(const std::string& path, const std::string& lines) {
  if (!lines.empty()) {
    write_file_atomically(path, std::string(kListMark) + lines);
  } else if (is_broken_list(path)) {  // of an earlier attempt
    ::unlink(path.c_str());
  }
}

void publish(AtomicFile& output, const std::string& path, const std::string& skipped) {
  const std::string list = broken_list_path(path);
  if (!skipped.empty()) replace_broken_list(list, skipped);
  output.commit();
  if (skipped.empty()) replace_broken_list(list, "");
}

void throw_listed(const PackRequest& request, const BrokenFilesError& error) {
  const std::string list = broken_list_path(request.output);
  std::string listed = "; " + list + " lists them";
  std::string unlisted;
  try {
    replace_broken_list(list, list_of(error.files()));
  } catch (const Error& failure) {  // it must not hide the broken files
    listed.clear();
    unlisted = std::string("; the list could not be written: ") + failure.what();
  }
  const bool may_skip = !request.skip_broken && error.addition().empty();
  throw BrokenFilesError(request.input, error.files(),
                         error.addition() + listed + "; repair or remove them" +
                             (may_skip ? ", or add --skip-broken" : "") + unlisted);
}

std::string broken_list_path(const std::string& output) { return output + ".broken.txt"; }

}  // namespace tandem::data
