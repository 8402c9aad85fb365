// Checks the structure of a packed file of version 2 before anything is read according to it.
#include <string>

#include "data/files/name_rules.hpp"
#include "packed_catalog.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

struct Named : PackedObject {
  void require(bool holds, const std::string& found_and_expected) const {
    if (holds) return;
    throw fault(found_and_expected + "; the file is damaged or hostile, pack it again");
  }
};

void check_range(const StoredRange& range, std::uint64_t size, std::uint64_t file_bytes,
                 const Named& named) {
  named.require(range.size == size, "has values of " + std::to_string(range.size) + " bytes, " +
                                        std::to_string(size) + " are expected");
  named.require(range.offset <= file_bytes && range.count <= (file_bytes - range.offset) / size,
                "has " + std::to_string(range.count) + " values of " + std::to_string(size) +
                    " bytes at offset " + std::to_string(range.offset) + ", the file ends at " +
                    std::to_string(file_bytes));
}

void check_shape(const PackedCatalog& catalog, const std::string& path) {
  const std::vector<std::uint64_t>& shape = catalog.shape;
  const bool fits = shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) && shape[1] > 0 &&
                    shape[1] <= kMaxPixels && shape[2] > 0 && shape[2] <= kMaxPixels &&
                    shape[0] * shape[1] <= kMaxPixels &&
                    shape[0] * shape[1] * shape[2] <= kMaxPixels;
  Named{path, "attribute shape"}.require(
      fits, "is not 1 or 3 channels, height and width of at most 1,000,000 values in all");
  Named{path, "attributes mean and std"}.require(
      catalog.mean.size() == shape[0] && catalog.std.size() == shape[0],
      "hold " + std::to_string(catalog.mean.size()) + " and " + std::to_string(catalog.std.size()) +
          " values, " + std::to_string(shape[0]) + " are expected as the images have channels");
}

void check_part(const PackedCatalog& catalog, const std::string& path) {
  if (catalog.part == 0 && catalog.parts == 0 && catalog.set_id.empty()) return;
  Named{path, "attributes part and parts"}.require(
      catalog.part > 0 && catalog.part <= catalog.parts && catalog.parts <= kMaxParts,
      "are " + std::to_string(catalog.part) + " and " + std::to_string(catalog.parts) +
          ", a part of at most 512 is expected");
  Named{path, "attribute set"}.require(is_digest(catalog.set_id),
                                       "is not 64 lower-case hex digits");
}

void check_version2_split(const PackedCatalog& catalog, std::size_t index, std::uint64_t file_bytes,
                          const std::string& path) {
  const Version2Split& split = catalog.version2[index];
  const std::string group = kGroups[index];
  const std::uint64_t pixels = catalog.shape[0] * catalog.shape[1] * catalog.shape[2];
  const char* array = split.is_encoded() ? "/bytes" : "/images";
  check_range(split.values, 1, file_bytes, {path, group + array});
  if (split.is_encoded()) check_range(split.offsets, 8, file_bytes, {path, group + "/offsets"});
  const std::string labels = group + name_of_labels(catalog);
  check_range(split.labels, catalog.multi_label == 1 ? catalog.class_names.count : 2, file_bytes,
              {path, labels});
  const std::uint64_t images = split.labels.count;
  Named{path, labels}.require(images > 0 && images <= kMaxImages,
                              "holds " + std::to_string(images) +
                                  (catalog.multi_label == 1 ? " rows, " : " labels, ") +
                                  "1 to 10,000,000 are expected");
  const Named values{path, group + array};
  if (!split.is_encoded()) {
    values.require(split.values.count == images * pixels,
                   "holds " + std::to_string(split.values.count) + " values, " +
                       std::to_string(images) + " images of " + std::to_string(pixels) +
                       " are expected");
    return;
  }
  Named{path, group + "/offsets"}.require(split.offsets.count == images + 1,
                                          "holds " + std::to_string(split.offsets.count) +
                                              " offsets, " + std::to_string(images + 1) +
                                              " are expected, one more than there are labels");
  values.require(split.values.count >= images, "holds " + std::to_string(split.values.count) +
                                                   " bytes for " + std::to_string(images) +
                                                   " pictures");
}

}  // namespace

void require_sound_version2(const PackedCatalog& catalog, std::uint64_t file_bytes,
                            const std::string& path) {
  Named{path, "attribute version"}.require(
      catalog.version == 2, "is " + std::to_string(catalog.version) + ", 1 or 2 is expected");
  Named{path, "/train/targets"}.require(catalog.multi_label <= 1,
                                        "is described by neither 0 nor 1");
  check_shape(catalog, path);
  check_part(catalog, path);
  const StoredRange& names = catalog.class_names;
  const Named classes{path, "/classes"};
  classes.require(names.size > 0 && names.size <= kMaxNameBytes,
                  "has names of " + std::to_string(names.size) + " bytes, 1 to 100 are expected");
  check_range(names, names.size, file_bytes, classes);
  classes.require(names.count > 0 && names.count <= kMaxClasses,
                  "holds " + std::to_string(names.count) + " names, 1 to 65,535 are expected");
  Named{path, "/train and /test"}.require(
      catalog.version2[0].is_encoded() == catalog.version2[1].is_encoded(),
      "hold files and pixels, only one of them is expected");
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    check_version2_split(catalog, i, file_bytes, path);
  }
}

}  // namespace tandem::data
