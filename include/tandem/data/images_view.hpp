// Images and labels in memory, as a loader reads them: pixels, or picture files that are decoded
// when they are read. The memory is the caller's. Any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

// The place of a picture's file in the files of its split.
struct PicturePlace {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t number = 0;  // of the image in its split of the set
};

// The source of the picture files of a view, if they are not in its memory. Any thread.
class PictureFiles {
 public:
  virtual ~PictureFiles() = default;
  virtual std::shared_ptr<const std::string> file_of(const PicturePlace& place) = 0;
};

struct ImagesView {
  ImageShape shape;
  // count * C * H * W pixels, planar; or the bytes of files; or empty, if `files` is set
  Span<const std::uint8_t> images;
  Span<const Label> labels;                       // count; for a multi-label set the first, or 0
  Span<const PicturePlace> places = {};           // one for each picture file; empty for pixels
  std::string where = {};                         // origin of the files, for messages
  std::shared_ptr<PictureFiles> files = nullptr;  // then `places` are offsets in the packed file
  // For a multi-label set: count * classes, 1 if the image has the class, else 0. Otherwise empty.
  Span<const std::uint8_t> targets = {};

  Fit fit = Fit::kStretch;  // of picture files

  bool is_encoded() const { return !places.empty(); }
  bool is_multi_label() const { return !targets.empty(); }
  // One for each class. Only for a multi-label set.
  Span<const std::uint8_t> targets_of(std::size_t image) const;
  // Images [first, first + count).
  ImagesView part(std::size_t first, std::size_t count) const;
};

// Consecutive images of a view whose files begin in one block of the packed file.
struct BlockImages {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // at least 1
  std::uint64_t bytes = 0;  // of their files
};

// Offsets, in bytes, of the parts of a data set in the memory of a host: pixels or files (none
// without `has_files`), the place of each file, labels and targets. Training comes first, then
// testing.
struct MemoryLayout {
  std::size_t places = 0;
  std::size_t labels = 0;
  std::size_t targets = 0;
  std::size_t all = 0;

  explicit MemoryLayout(const DatasetInfo& info, bool has_files = true);
};

struct StoredPicture {
  std::string_view bytes;
  std::string where;  // its name in messages
  std::shared_ptr<const std::string> read =
      {};  // owns the bytes, if they are not in the view's memory
};

// Gives the pixels of a view's images. One thread per object; the view must outlive it.
class PixelsOf {
 public:
  explicit PixelsOf(const ImagesView& view, Decoding decoding = Decoding::kExact)
      : view_(view), decoding_(decoding) {}

  // C * H * W bytes, planar; valid until the next call. Turns a picture upright and resizes it to
  // the view's shape as its `fit` says; with Decoding::kScaled it stretches it. DataError naming
  // the picture if it cannot be decoded.
  const std::uint8_t* operator()(std::size_t image);
  // The file of an image, if the view is encoded.
  StoredPicture file(std::size_t image) const;

 private:
  const ImagesView& view_;
  const Decoding decoding_;
  std::vector<std::uint8_t> room_;
};

}  // namespace tandem::data
