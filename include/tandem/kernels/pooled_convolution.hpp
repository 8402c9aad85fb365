// A 5x5 convolution fused with 2x2 max pooling and ReLU, forward and backward. For layers with few
// channels, in which calls and copies of a library cost more than the arithmetic. One object may
// serve several threads. Throws std::bad_alloc.
//
// Of the four results in a pooling window only the largest is written, with its argmax. Gradients
// are summed for it alone, which is a quarter of the products. Sums are fp32, in an order that
// depends on the sizes only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

struct PooledConvolutionSizes {
  std::size_t channels = 0, height = 0, width = 0;  // of an image
  std::size_t filters = 0;
  std::size_t padding = 0;  // lines of zeros around an image
  // An odd last line of results is not pooled. 0 if the image is too small.
  std::size_t out_height() const { return pooled(height); }
  std::size_t out_width() const { return pooled(width); }
  std::size_t out_pixels() const { return out_height() * out_width(); }

  static constexpr std::size_t kSide = 5;  // of a filter

 private:
  std::size_t pooled(std::size_t pixels) const {
    const std::size_t padded = pixels + 2 * padding;
    return padded < kSide ? 0 : (padded - kSide + 1) / 2;
  }
};

// Strides of an array of images or filters, in elements.
struct Strides {
  std::size_t item = 0, channel = 0, row = 0, column = 0;
};

struct StridedImages {
  const float* data = nullptr;
  Strides strides;
  std::size_t count = 0;
};

class PooledConvolution {
 public:
  // `bias` may be null. `rounds`: images, filters, bias and results are rounded to bfloat16 as
  // under autocast; products and sums stay fp32.
  PooledConvolution(const PooledConvolutionSizes& sizes, const float* filters,
                    const Strides& filter_strides, const float* bias, bool rounds);

  // 2 * row + column of the maximum of four: the first of equals, the last NaN; kNone if none is
  // above 0.
  static constexpr std::uint8_t kNone = 4;

  // `out` and `argmax`: count x filters x out_height x out_width.
  void forward(const StridedImages& images, float* out, std::uint8_t* argmax) const;

  // The number of floats that backward sums over images for read_sums; initialize them to 0.
  std::size_t sums_size() const;
  // `gradients` and `argmax` have the layout of forward's `out`. `image_gradients`: count x
  // channels x height x width, overwritten; or null.
  void backward(const StridedImages& images, const float* gradients, const std::uint8_t* argmax,
                float* sums, float* image_gradients) const;
  // Writes the gradients of all filters and, unless `bias` is null, of their bias.
  void read_sums(const float* sums, float* filters, const Strides& filter_strides,
                 float* bias) const;

 private:
  std::size_t padded_height() const { return sizes_.height + 2 * sizes_.padding; }
  std::size_t padded_width() const { return sizes_.width + 2 * sizes_.padding; }
  // Floats in an image line with channels-last layout; in the part of it that a filter covers; and
  // in the part that two filters one pixel apart cover. The latter two are rounded up to whole
  // vectors.
  std::size_t line() const { return padded_width() * sizes_.channels; }
  std::size_t filter_line() const;
  std::size_t window_line() const;
  std::size_t filter_sums() const;  // of one filter and its bias
  // Where a filter moved right by `shift` pixels begins in shifted_.
  std::size_t shifted(std::size_t shift, std::size_t filter) const {
    return (shift * sizes_.filters + filter) * PooledConvolutionSizes::kSide * window_line();
  }
  void add_windows(const float* gradients, const std::uint8_t* argmax,
                   std::vector<float>& image) const;

  const PooledConvolutionSizes sizes_;
  const bool rounds_;
  std::vector<std::uint32_t> corners_;  // in an image, of what each pooled result looks at
  std::vector<float> bias_;
  std::vector<float> pairs_;    // pair of filters, channel, row, filter of the pair, column
  std::vector<float> shifted_;  // shift, filter, row, (column, channel) of a window
};

}  // namespace tandem::kernels
