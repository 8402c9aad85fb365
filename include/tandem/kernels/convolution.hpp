// Convolution of bfloat16 images, and its gradients by images and by filters, as products of 32 x
// 32 matrices: by AMX, or by plain loops with the same result layout. Thread-safe; the caller's
// ForEach distributes the work. Throws std::bad_alloc and what the ForEach throws.
//
// A matrix holds one pixel position of 32 images. So a filter's taps meet whole matrices at any
// image size, and taps outside the image are skipped instead of multiplied by zeros. A batch is
// padded to a multiple of 32 images; channels and filters likewise. Sums are fp32, in an order that
// depends on the sizes only.
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

// Calls each of task(0) to task(count - 1) once, on any threads, and returns after the last.
using ForEach =
    std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

bool has_amx();
// Whether products of bfloat16 are faster than those of fp32, as with AMX and AMD's AVX512-BF16.
// Intel's VDPBF16PS does half of the arithmetic of VFMADD231PS (measured on a Xeon of model 207:
// 0.92 and 0.22 ns).
bool has_fast_bf16();

// Whether one row of a matrix is a whole filter row with all channels: for few channels, stride 1
// and no padding.
bool folds(const ConvolutionSizes& sizes);

// Images, results and their gradients: bits of bfloat16 numbers, by image, row, column, channel.
// Filters and their gradient: fp32, by filter, row, column, channel. Filters are rounded to
// bfloat16 before they are multiplied, tile by tile.
class Convolution {
 public:
  // `with_amx` requires has_amx().
  Convolution(const ConvolutionSizes& sizes, bool with_amx, ForEach for_each);

  // `bias`: one per filter, or null.
  void forward(const std::uint16_t* images, const float* filters, const float* bias,
               std::uint16_t* out) const;
  // Overwrites all of `out`.
  void image_gradient(const std::uint16_t* gradient, const float* filters,
                      std::uint16_t* out) const;
  // Overwrites `out`, or adds to it if `adds`.
  void filter_gradient(const std::uint16_t* images, const std::uint16_t* gradient, float* out,
                       bool adds = false) const;

 private:
  const ConvolutionSizes sizes_;
  const TileFunctions& tiles_;
  const ForEach for_each_;
};

}  // namespace tandem::kernels
