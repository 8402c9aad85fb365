// What: a convolution of bfloat16 images, its gradient by the images and that by the filters, as
// products of matrices of 32 x 32 numbers: by AMX, or by plain loops that show what those compute.
// Owns: nothing. Threads: any; work is shared out by the caller's ForEach. Throws: std::bad_alloc,
// and what the ForEach throws.
//
// A matrix takes one pixel of 32 images at a time, so a filter's taps meet whole matrices whatever
// the size of an image, and what lies outside of it is left out instead of multiplied by zeros.
// Batches that do not fill 32 images, and channels and filters that do not fill 32, cost as much as
// if they did. Sums are fp32, in an order that the sizes alone decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tandem::kernels {

struct TileFunctions;

struct ConvolutionSizes {
  std::size_t images = 0, channels = 0, height = 0, width = 0;
  std::size_t filters = 0, side = 0;  // of a filter, in pixels
  std::size_t stride = 1;
  std::size_t padding = 0;  // lines of zeros around an image; its sides with it are at least `side`

  std::size_t out_height() const { return (height + 2 * padding - side) / stride + 1; }
  std::size_t out_width() const { return (width + 2 * padding - side) / stride + 1; }
};

// Calls task(0) to task(count - 1), each once, on any threads, and returns after the last.
using ForEach =
    std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

bool has_amx();

// Whether a filter's line, with all its channels, is one row of a matrix: of few channels, stride 1
// and no padding.
bool folds(const ConvolutionSizes& sizes);

// Images, results and their gradients: bits of bfloat16 numbers, by image, row, column, channel.
// Filters: bits of bfloat16 numbers, by filter, row, column, channel. Their gradient: fp32,
// likewise.
class Convolution {
 public:
  // `with_amx`: only where has_amx().
  Convolution(const ConvolutionSizes& sizes, bool with_amx, ForEach for_each);

  // `bias`: of each filter, or null.
  void forward(const std::uint16_t* images, const std::uint16_t* filters, const float* bias,
               std::uint16_t* out) const;
  // Writes `out` whole: of all images.
  void image_gradient(const std::uint16_t* gradient, const std::uint16_t* filters,
                      std::uint16_t* out) const;
  void filter_gradient(const std::uint16_t* images, const std::uint16_t* gradient,
                       float* out) const;

 private:
  const ConvolutionSizes sizes_;
  const TileFunctions& tiles_;
  const ForEach for_each_;
};

}  // namespace tandem::kernels
