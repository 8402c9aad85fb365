// Resizes a region of planar bytes as torch.nn.functional.interpolate(mode="bilinear",
// antialias=True) does on floats, with the result rounded half to even: an enlarged region is
// interpolated between two pixels, and for a reduced one the triangle of weights is wider by the
// scale. One thread per object, which keeps its memory for the next image.
#pragma once

#include <cstdint>
#include <vector>

#include "regions.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class RegionResizer {
 public:
  // `image` has the shape `from`, `out` has `to` and as many channels.
  void resize(const std::uint8_t* image, ImageShape from, const Region& region, ImageShape to,
              std::uint8_t* out);

 private:
  // Each place of the result is a sum over `taps` places from first[place] on, with
  // weights[tap * size + place].
  struct Axis {
    int size = 0;
    int taps = 0;
    std::vector<int> first;
    std::vector<float> weights;
    void set(int from, int to);
  };
  void resize_rows(const std::uint8_t* plane, int stride, const Region& region);

  Axis rows_;
  Axis columns_;
  std::vector<float> row_;   // of the region
  std::vector<float> wide_;  // the region, as wide as the result
  std::vector<float> sum_;   // a row of the result
};

}  // namespace tandem::data
