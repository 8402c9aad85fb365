// Everything about a data set except its images, and the limits of a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::data {

// The largest data set that tandem writes and reads.
constexpr std::uint64_t kMaxImages = 10'000'000;  // of a split
constexpr std::uint64_t kMaxPixels = 1'000'000;   // of one image, C * H * W
constexpr std::size_t kMaxClasses = 65'535;
constexpr std::uint64_t kMaxParts = 512;  // files of a set; all are open while they are verified
// Of a channel, in [0, 1] units: one that never changes has nothing to learn from and cannot be
// normalized.
constexpr double kSmallestDeviation = 1e-6;

// The extent of one image.
struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  // Values, and bytes of uint8, of one image in CHW order.
  std::size_t pixels() const { return static_cast<std::size_t>(channels) * plane(); }
  // Values of one channel.
  std::size_t plane() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  // "3x32x32"
  std::string text() const {
    return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
  }
};

inline bool operator==(const ImageShape& a, const ImageShape& b) {
  return a.channels == b.channels && a.height == b.height && a.width == b.width;
}
inline bool operator!=(const ImageShape& a, const ImageShape& b) { return !(a == b); }

// The number of an image's class.
using Label = std::uint16_t;

enum class Split { kTrain, kTest };
// In arrays of both: 0 is the training images.
constexpr std::size_t index_of(Split split) { return split == Split::kTrain ? 0 : 1; }

struct DatasetInfo {
  std::string name;                  // also a part of file names: no '/', no leading '.'
  std::vector<std::string> classes;  // a label is an index into it
  ImageShape shape;
  std::vector<double> mean;   // per channel, over the training images, pixels scaled to [0, 1]
  std::vector<double> std;    // likewise, of the population, above 0
  std::string source_sha256;  // 64 hex digits; what it covers depends on the source (docs: formats)
  // SHA-256 of the HDF5 part of the packed file, of version 2 that of its table of digests, 64 hex
  // digits: names the data set in manifests and between ranks. Adding a user block does not change
  // it.
  std::string digest;
  std::uint64_t train_count = 0;
  std::uint64_t test_count = 0;
  // Bytes of the picture files of a split (version 2); 0: the set holds pixels.
  std::uint64_t train_bytes = 0;
  std::uint64_t test_bytes = 0;
  bool multi_label = false;  // an image has any number of classes (version 2)
  bool sealed = false;       // has a user block
  // For one file of several: its number, from 1, the number of files, and the 64 hex digits that
  // identify the set. For a whole set in several files: 0, the number of files, and the digits.
  // Otherwise 0 and empty.
  std::uint64_t part = 0;
  std::uint64_t parts = 0;
  std::string set_id = {};
  std::uint64_t broken_files = 0;  // that were left out when it was packed
  // pack() made its pictures upright by EXIF. False for other forms than pictures, too.
  bool exif_orientation = false;
  std::uint64_t turned_pictures = 0;  // that were not upright; returned by pack() only

  bool is_encoded() const { return train_bytes > 0; }
  // Whether the set has several files. Also true of one file of such a set.
  bool is_in_parts() const { return parts > 1; }
  std::uint64_t encoded_bytes(Split split) const {
    return split == Split::kTrain ? train_bytes : test_bytes;
  }
  std::uint64_t count(Split split) const {
    return split == Split::kTrain ? train_count : test_count;
  }
};

// Whether a model of this data set expects upright pictures. True if pack() turned them, and for
// published sets, where every picture is upright. False for pictures packed by earlier versions.
bool has_upright_images(const DatasetInfo& info);

}  // namespace tandem::data
