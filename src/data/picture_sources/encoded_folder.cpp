#include <filesystem>
#include <utility>

#include "class_folders.hpp"
#include "encoded_listing.hpp"
#include "encoded_source.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {

std::unique_ptr<EncodedSource> open_encoded_folder(const std::string& path,
                                                   const EncodedFolderOptions& options) {
  PictureListing listing;
  listing.root = root_of_class_folders(path);
  ClassFolders found = find_class_folders(listing.root, options.test_split > 0, options.check);
  if (!found.usage_fault.empty()) throw UsageError(found.usage_fault);
  listing.name = std::filesystem::path(listing.root).filename().string();
  listing.classes = std::move(found.classes);
  listing.broken = std::move(found.broken);
  listing.train_count = found.train.size();
  for (const std::vector<PictureFile>* files : {&found.train, &found.test}) {
    for (const PictureFile& file : *files) {
      listing.names.add(std::string_view(file.path).substr(listing.root.size() + 1));
      listing.labels.push_back(file.label);
    }
  }
  return make_listed_source(std::move(listing), path, options.test_split, options.seed);
}

}  // namespace tandem::data
