// What: a 5x5 convolution, 2x2 max-pooling and ReLU in one, forwards and backwards, for layers of
// few channels, where a library's calls and its copies cost more than the arithmetic.
// Owns: PooledConvolution its arranged filters. Threads: any; one object serves several.
// Throws: std::bad_alloc.
//
// Of the four results that pooling compares, one is written, and which; gradients are summed for
// that one alone, a quarter of the products. Sums are fp32, in an order that the sizes decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

struct PooledConvolutionSizes {
  std::size_t channels = 0, height = 0, width = 0;  // of an image
  std::size_t filters = 0;
  std::size_t padding = 0;  // lines of zeros around an image
  // An odd last line of results is not pooled. 0 where the image is too small.
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

// Of an array of images or filters, in elements.
struct Strides {
  std::size_t item = 0, channel = 0, row = 0, column = 0;
};

class PooledConvolution {
 public:
  // `bias` may be null. `rounds`: images, filters, bias and results are rounded to bfloat16 as
  // under autocast; products and sums are fp32 all the same.
  PooledConvolution(const PooledConvolutionSizes& sizes, const float* filters,
                    const Strides& filter_strides, const float* bias, bool rounds);

  // 2 * row + column of the largest of four, the first of equals, the last that is
  // no number; kNone where none is above 0.
  static constexpr std::uint8_t kNone = 4;

  // `out` and `argmax`: count x filters x out_height x out_width.
  void forward(const float* images, const Strides& image_strides, std::size_t count, float* out,
               std::uint8_t* argmax) const;

  // What backward sums over images, for read_sums: this many numbers, 0 at first.
  std::size_t sums_size() const;
  // `gradients` and `argmax` as `out` of forward. `image_gradients`: count x channels x height x
  // width, written; or null.
  void backward(const float* images, const Strides& image_strides, std::size_t count,
                const float* gradients, const std::uint8_t* argmax, float* sums,
                float* image_gradients) const;
  // Writes the gradients of all filters and, where `bias` is not null, of their bias.
  void read_sums(const float* sums, float* filters, const Strides& filter_strides,
                 float* bias) const;

 private:
  std::size_t padded_height() const { return sizes_.height + 2 * sizes_.padding; }
  std::size_t padded_width() const { return sizes_.width + 2 * sizes_.padding; }
  // Numbers in a line of an image with its channels side by side, in as much of it as a filter
  // covers, and as two filters cover that are a pixel apart; the latter two in whole vectors.
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
