// Picture files that are to be packed as they are. read() may be called on several threads. Throws
// MissingInputError, IoError, UsageError; DataError naming the file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/pictures/broken_files.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {

// Pictures of each split, by their numbers.
using PictureNumbers = std::array<std::vector<std::uint32_t>, 2>;

// Size of a picture, and last change of its file or of the archive that holds it.
struct PictureStamp {
  std::uint64_t bytes = 0;      // of the picture; 0 if it is not there
  std::int64_t written_ns = 0;  // time of the last change, since 1970
};
// The stamp of a file; zeros if there is none, or no permission for its folder. Throws IoError.
PictureStamp stamp_of(const std::string& path);

class EncodedSource {
 public:
  virtual ~EncodedSource() = default;

  // Name, classes and counts. Every label is below the number of classes.
  virtual const DatasetInfo& info() const = 0;
  // All classes of the picture, ascending: one, or any number in a multi-label set.
  virtual std::vector<Label> labels(Split split, std::uint64_t index) const = 0;
  // How messages name the picture.
  virtual std::string where(Split split, std::uint64_t index) const = 0;
  // The bytes of the picture's file. Calls `before` with their number, or a bound of it, before it
  // allocates them.
  virtual std::string read(Split split, std::uint64_t index, const BeforeTaking& before) = 0;
  // Does not read the picture. May be called on several threads.
  virtual PictureStamp stamp(Split split, std::uint64_t index) const = 0;
  // Whether a class may have no training picture.
  virtual bool may_lack_pictures() const { return false; }
  // Files that cannot be packed, found without reading pictures.
  virtual const BrokenFiles& broken() const = 0;
  // The folder that the paths of files begin with; empty if there is none.
  virtual const std::string& root() const = 0;
  // Of these pictures, which were read.
  virtual std::string source_sha256(const PictureNumbers& packed) const = 0;
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

struct EncodedListOptions {
  std::string test_input;    // of the test set, in the form of the input; empty: none
  bool multi_label = false;  // for lists: semicolons separate the labels of a picture
  std::string classes_file;  // names of classes, one a line; empty: the labels are the classes
  double test_split = 0;     // as in EncodedFolderOptions
  std::uint64_t seed = 0;
  std::function<void()> check = [] {};
};

// WebDataset archives, given by paths or a pattern (file_pattern.hpp). Members with the same path
// up to the first dot of their names are a sample. It has a picture (jpg, jpeg or png) and a label:
// cls, `label` or `cls` of json, or txt. Archives are indexed first; pictures are then read by
// their offsets.
std::unique_ptr<EncodedSource> open_encoded_tar(const std::string& input,
                                                const EncodedListOptions& options);
bool looks_like_tar(const std::string& input);

// A list of paths and labels (list_file.hpp). Paths are relative to its folder.
std::unique_ptr<EncodedSource> open_encoded_list(const std::string& input,
                                                 const EncodedListOptions& options);

// Drawn pictures of height x width pixels as JPEG files: the ten figures of the built-in data set,
// each about as large as the picture. A picture is a function of (seed, split, index) and of the
// version of libjpeg. Picture i shows class i modulo 10; in a multi-label set each picture shows
// zero to three classes. Counts as for make_synthetic().
std::unique_ptr<EncodedSource> make_encoded_synthetic(std::uint64_t images, std::uint64_t seed,
                                                      int height, int width,
                                                      bool multi_label = false);

}  // namespace tandem::data
