// Sizes of convolutions, their definition, and orders of tasks.
#pragma once

#include <functional>
#include <ostream>

#include "tandem/kernels/convolution.hpp"

namespace tandem::kernels {

inline void in_turn(std::size_t count, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < count; ++i) task(i);
}
inline void backwards(std::size_t count, const std::function<void(std::size_t)>& task) {
  while (count-- > 0) task(count);
}

// The definition: use(image's number, filter's number, result's number) for all that are
// multiplied.
template <class Use>
inline void for_each_product(const ConvolutionSizes& s, const Use& use) {
  for (std::size_t n = 0; n < s.images; ++n)
    for (std::size_t y = 0; y < s.out_height(); ++y)
      for (std::size_t x = 0; x < s.out_width(); ++x)
        for (std::size_t ky = 0; ky < s.side; ++ky)
          for (std::size_t kx = 0; kx < s.side; ++kx) {
            const std::size_t row = y * s.stride + ky - s.padding;  // above the last where negative
            const std::size_t column = x * s.stride + kx - s.padding;
            if (row >= s.height || column >= s.width) continue;
            for (std::size_t f = 0; f < s.filters; ++f)
              for (std::size_t c = 0; c < s.channels; ++c)
                use(((n * s.height + row) * s.width + column) * s.channels + c,
                    ((f * s.side + ky) * s.side + kx) * s.channels + c,
                    ((n * s.out_height() + y) * s.out_width() + x) * s.filters + f);
          }
}

struct ConvolutionCase {
  const char* name;
  ConvolutionSizes sizes;
};
inline void PrintTo(const ConvolutionCase& of, std::ostream* out) { *out << of.name; }

inline ConvolutionSizes sizes_of(std::size_t images, std::size_t channels, std::size_t height,
                                 std::size_t width, std::size_t filters, std::size_t side,
                                 std::size_t stride, std::size_t padding) {
  ConvolutionSizes sizes;
  sizes.images = images, sizes.channels = channels, sizes.height = height, sizes.width = width;
  sizes.filters = filters, sizes.side = side, sizes.stride = stride, sizes.padding = padding;
  return sizes;
}

}  // namespace tandem::kernels
