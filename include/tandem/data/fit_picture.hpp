// Converts a picture of any size and kind to an image of a data set. Throws UsageError for an
// unsupported number of channels; fit_file() throws DataError.
//
// In this order: transparency becomes white, the picture becomes gray or RGB as the data set
// requires, and it gets the given height and width as Fit says. For pictures without transparency
// the result of Fit::kStretch is that of Pillow's Image.open(FILE).convert("RGB" or
// "L").resize((WIDTH, HEIGHT), Image.BILINEAR), bit for bit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tandem/data/augment.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {

// Bounds the memory that several threads use for large objects at a time. take() blocks until there
// is room. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes), left_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // The share of one thread, returned by the destructor.
  class Share {
   public:
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { budget_.give_back(held_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Call it once. A request above the total waits until no other thread holds any.
    void take(std::uint64_t bytes) { held_ = budget_.take(bytes); }

   private:
    MemoryBudget& budget_;
    std::uint64_t held_ = 0;
  };

 private:
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  const std::uint64_t bytes_;
  std::uint64_t left_;
  std::mutex mutex_;
  std::condition_variable given_back_;
};

// Resizes a picture as Pillow's Image.resize(…, BILINEAR) does, bit for bit. Throws std::bad_alloc.
//
// A pixel of the result is a mean of the pixels around its position, weighted by a triangle. For
// enlargement the triangle is two pixels wide, which is bilinear interpolation; for reduction it is
// wider by the scale, so that every pixel counts and no aliasing appears.
Picture resize(Picture picture, int height, int width);

// The center of the picture, as Fit::kCenterCrop says. If height and width are equal, the result is
// that of torchvision's Resize(SIDE * 256 // 224) and CenterCrop(SIDE) on Pillow's images, bit for
// bit. Throws std::bad_alloc.
Picture center_crop(const Picture& picture, int height, int width);

// UsageError unless `channels` is 1 or 3.
void require_picture_channels(int channels);
// UsageError if images of this shape have too many values. `asking`: its words after "--size: " and
// before " for images of".
void require_packable_shape(const ImageShape& shape, const std::string& asking = "asks");

// Makes transparency white and, for one channel, colors gray. The result has 1 channel, or 3 if the
// picture is in color.
void limit_channels(Picture& picture, int channels);

// Writes shape.pixels() bytes in CHW order.
void fit_picture(Picture picture, ImageShape shape, std::uint8_t* image, Fit fit = Fit::kStretch);

// For pictures that are being decoded at the same time.
constexpr std::uint64_t kMemoryForPictures = std::uint64_t{1} << 30;

// The orientation of pixels that a camera stored turned: as stored, or upright.
enum class Orientation { kAsStored, kUpright };

struct Fitting {
  Orientation orientation = Orientation::kUpright;
  Fit fit = Fit::kStretch;
};

// The same of the bytes of a file, as decode_picture() takes them, once `budget` has room for the
// picture. Returns whether its EXIF orientation differs from upright.
bool fit_file(std::string_view bytes, const std::string& where, ImageShape shape,
              MemoryBudget& budget, Fitting fitting, std::uint8_t* image);

}  // namespace tandem::data
