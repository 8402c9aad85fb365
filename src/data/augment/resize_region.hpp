// Resizes a region as torch.nn.functional.interpolate(mode="bilinear", antialias=True) does on
// floats, and rounds the result half to even. Enlarging interpolates between two pixels. Reducing
// uses a triangle filter that is wider by the scale. It takes rows one by one, and keeps only those
// that the next row of the result needs. One thread per object, which reuses its memory for the
// next image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regions.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class RegionResizer {
 public:
  static constexpr int kMaxChannels = 4;
  // One side of a region: it begins `offset` pixels after the first of `count` pixels, and is
  // `length` pixels long. Both are whole numbers, unless the picture was decoded at a reduced size.
  struct Side {
    int count = 0;
    float offset = 0;
    float length = 0;
  };
  // The place of channel c of pixel x in a row: x * pixel + c * channel.
  struct Steps {
    std::ptrdiff_t pixel = 1;
    std::ptrdiff_t channel = 0;
  };

  // Begins an image of the shape `to`, of at most kMaxChannels. `out`: planar.
  void begin(const Side& rows, const Side& columns, ImageShape to, std::uint8_t* out);
  // The next row, columns.count pixels. After the last one the image is complete.
  void add_row(const std::uint8_t* row, Steps steps);

  // A region of planar bytes. `image` has the shape `from`, `out` has `to`; any number of channels.
  void resize(const std::uint8_t* image, ImageShape from, const Region& region, ImageShape to,
              std::uint8_t* out);

 private:
  // Each place of the result is a sum over `taps` places from first[place] on, with
  // weights[place * taps + tap].
  struct Axis {
    int taps = 0;
    std::vector<int> first;
    std::vector<float> weights;
    void set(const Side& from, int to);
  };
  void finish_row(int place);

  ImageShape to_;
  std::uint8_t* out_ = nullptr;
  int taken_ = 0;  // rows of the region
  int done_ = 0;   // rows of the result
  Axis rows_;
  Axis columns_;
  // Four floats per pixel; those beyond the channels are unused.
  std::vector<float> row_;            // of the region
  std::vector<float> wide_;           // the last rows, as wide as the result; row y at y % taps
  std::vector<const float*> window_;  // those that make one row of the result
};

}  // namespace tandem::data
