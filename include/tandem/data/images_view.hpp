// Images and labels in memory, as a loader reads them: pixels, or picture files that are decoded
// when they are read. The memory is the caller's. Any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

// Where the file of a picture lies among those of its split.
struct PicturePlace {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t number = 0;  // of the image in its split of the file
};

struct ImagesView {
  ImageShape shape;
  Span<const std::uint8_t> images;       // count * C * H * W pixels, planar; or the bytes of files
  Span<const Label> labels;              // count
  Span<const PicturePlace> places = {};  // of files: one for each image; of pixels: none
  std::string where = {};                // of files: what they are of, for messages

  bool is_encoded() const { return !places.empty(); }
  // Images [first, first + count).
  ImagesView part(std::size_t first, std::size_t count) const;
};

// Where the parts of a data set lie in the memory of a host: pixels or files, of files also where
// each lies, and labels; each for training and then for testing. In bytes.
struct MemoryLayout {
  std::size_t places = 0;
  std::size_t labels = 0;
  std::size_t all = 0;

  explicit MemoryLayout(const DatasetInfo& info);
};

// Gives the pixels of a view's images. One thread per object; the view must outlive it.
class PixelsOf {
 public:
  explicit PixelsOf(const ImagesView& view) : view_(view) {}

  // C * H * W bytes, planar; valid until the next call. A picture is made upright and resized to
  // the view's shape. DataError naming the picture if it cannot be decoded.
  const std::uint8_t* operator()(std::size_t image);

 private:
  const ImagesView& view_;
  std::vector<std::uint8_t> room_;
};

}  // namespace tandem::data
