#include <filesystem>

#include "encoded_source.hpp"
#include "list_file.hpp"
#include "listing_builder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kRowsBetweenChecks = 4096;

// Without this check, labels with semicolons would become classes.
void require_one_label(const std::string& path, const ListRow& row) {
  if (row.label.find(';') == std::string::npos) return;
  throw UsageError(path + ": line " + std::to_string(row.line) + " has the label '" +
                   trim(row.label) +
                   "'; add --multi-label if semicolons separate labels, or name the classes with "
                   "--classes FILE if they are part of a name");
}

// `folder`: of the list, within the root of all pictures.
void add_rows(const std::string& path, const std::string& folder, const EncodedListOptions& options,
              ListingBuilder& pictures) {
  ListFile list(path);
  ListRow row;
  for (std::uint64_t i = 0; list.next(row); ++i) {
    if (i % kRowsBetweenChecks == 0) options.check();
    if (!options.multi_label && options.classes_file.empty()) require_one_label(path, row);
    pictures.add(path_within(folder, row.path), trim(row.label));
  }
}

}  // namespace

std::unique_ptr<EncodedSource> open_encoded_list(const std::string& input,
                                                 const EncodedListOptions& options) {
  std::vector<std::string> lists{with_single_slashes(input)};
  if (!options.test_input.empty()) lists.push_back(with_single_slashes(options.test_input));
  const std::string root = common_folder(lists);
  ListingBuilder pictures(input, root, options);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (i == 1) pictures.begin_test();
    const std::string folder = std::filesystem::path(name_within(root, lists[i])).parent_path();
    add_rows(lists[i], folder, options, pictures);
  }
  return pictures.finish(std::filesystem::path(input).stem().string());
}

}  // namespace tandem::data
