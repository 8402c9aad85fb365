// Makes one image of an epoch, from stored bytes to normalized floats: crop, flip, changes of
// colors and shapes, normalization, erasing, in this order. The view must outlive it. One thread
// per object, which keeps memory for the next image. Throws InternalError for an image that the
// view does not have.
#pragma once

#include <cstdint>
#include <vector>

#include "data/augment/picture_ops.hpp"
#include "data/augment/resize_region.hpp"
#include "tandem/data/batch_loader.hpp"

namespace tandem::data {

class ImageMaker {
 public:
  ImageMaker(const ImagesView& view, const Transform& transform, const AugmentKey& augment);

  // Writes view.shape.pixels() floats.
  void make(std::uint64_t epoch, std::uint32_t image, float* out);

 private:
  const std::uint8_t* resized(std::uint64_t epoch, std::uint32_t image);
  void change(std::uint64_t epoch, std::uint32_t image);

  const ImagesView view_;
  const Transform& transform_;
  const AugmentKey augment_;
  PixelsOf pixels_of_{view_, augment_.decoding};
  RegionResizer resizer_;
  PictureOps ops_;
  std::vector<std::uint8_t> resized_;
  std::vector<std::uint8_t> changed_;  // cropped and flipped
};

}  // namespace tandem::data
