// 3x3 convolution with stride 1, and its gradients, by Winograd's minimal filtering (Winograd 1980;
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). A result needs 4
// products per channel with F(2x2), and 2.25 with F(4x4), instead of 9. Thread-safe; the caller's
// ForEach distributes the work. Throws std::bad_alloc and what the ForEach throws.
//
// Bits depend on sizes and form only. The relative error (root of the mean square) is about 1e-6
// with fp32 products, and 4e-3 with bfloat16 products.
#pragma once

#include <string_view>
#include <vector>

#include "tandem/kernels/convolution.hpp"

namespace tandem::kernels {

// Numbers in memory: fp32, or bits of bfloat16. Filters' gradients are fp32 either way.
enum class ImageNumbers { kFp32, kBfloat16 };

// An implementation for one instruction set.
struct WinogradForm;
// The fastest on this processor. Null without AVX2 and FMA, and if GCC did not compile tandem.
const WinogradForm* best_winograd_form(ImageNumbers numbers);
// All that this processor can run, including the slow ones in plain C++.
std::vector<const WinogradForm*> winograd_forms();
std::string_view name_of(const WinogradForm& form);
ImageNumbers numbers_of(const WinogradForm& form);
// Results along one side of a tile.
std::size_t tile_side_of(const WinogradForm& form);

// Arrays hold the form's numbers, by image, row, column, channel; filters by filter, row, column,
// channel. Each call overwrites all of `out`.
class Winograd {
 public:
  // Requires: side 3, stride 1, padding 0 to 2; at least one image, channel, filter and result.
  Winograd(const ConvolutionSizes& sizes, const WinogradForm& form, ForEach for_each);

  void forward(const void* images, const void* filters, void* out) const;
  void image_gradient(const void* gradient, const void* filters, void* out) const;
  // Overwrites `out`, or adds to it if `adds`.
  void filter_gradient(const void* images, const void* gradient, float* out,
                       bool adds = false) const;

 private:
  const ConvolutionSizes sizes_;
  const WinogradForm& form_;
  const ForEach for_each_;
};

}  // namespace tandem::kernels
