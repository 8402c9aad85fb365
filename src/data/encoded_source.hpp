// Picture files that are to be packed as they are. read() may be called on several threads. Throws
// MissingInputError, IoError, UsageError; DataError naming the file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broken_files.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class EncodedSource {
 public:
  virtual ~EncodedSource() = default;

  // Name, classes and counts. Every label is below the number of classes.
  virtual const DatasetInfo& info() const = 0;
  virtual Label label(Split split, std::uint64_t index) const = 0;
  // All classes of the picture, ascending; of a multi-label set any number.
  virtual std::vector<Label> labels(Split split, std::uint64_t index) const {
    return {label(split, index)};
  }
  // How messages name the picture.
  virtual std::string where(Split split, std::uint64_t index) const = 0;
  // The bytes of the picture's file. Calls `before` with their number, or a bound of it, before it
  // allocates them.
  virtual std::string read(Split split, std::uint64_t index,
                           const std::function<void(std::uint64_t)>& before) = 0;
  // Files that cannot be packed, found without reading pictures.
  virtual const BrokenFiles& broken() const = 0;
  // The folder that the paths of files begin with; empty if there is none.
  virtual const std::string& root() const = 0;
  // Of the pictures that were read, without those in `left_out` (sorted by path).
  virtual std::string source_sha256(const BrokenFiles& left_out) const = 0;
};

struct EncodedFolderOptions {
  double test_split = 0;  // as ImageFolderOptions
  std::uint64_t seed = 0;
  std::function<void()> check = [] {};
};

// A folder of pictures in the layout that open_image_folder() reads, with up to 65,535 classes.
// source_sha256 is that of the same pictures packed as pixels.
std::unique_ptr<EncodedSource> open_encoded_folder(const std::string& path,
                                                   const EncodedFolderOptions& options);

// Drawn pictures of height x width pixels as JPEG files: the ten figures of the built-in data set,
// each about as large as the picture. A picture is a function of (seed, split, index) and of the
// version of libjpeg. Picture i shows class i modulo 10; of a multi-label set each picture shows
// none to three classes. Numbers as of make_synthetic().
std::unique_ptr<EncodedSource> make_encoded_synthetic(std::uint64_t images, std::uint64_t seed,
                                                      int height, int width,
                                                      bool multi_label = false);

}  // namespace tandem::data
