#include "tandem/kernels/pooled_convolution.hpp"

#include <algorithm>
#include <numeric>

#include "pooled_convolution_loops.hpp"

namespace tandem::kernels {
namespace {

constexpr std::size_t kSide = PooledConvolutionSizes::kSide;

std::size_t rounded_up(std::size_t size, std::size_t step) {
  return (size + step - 1) / step * step;
}

std::size_t at(const Strides& strides, std::size_t item, std::size_t channel, std::size_t row,
               std::size_t column) {
  return item * strides.item + channel * strides.channel + row * strides.row +
         column * strides.column;
}

}  // namespace

std::size_t PooledConvolution::filter_line() const {
  return rounded_up(kSide * sizes_.channels, kWideLanes);
}
std::size_t PooledConvolution::filter_sums() const { return kSide * filter_line() + kWideLanes; }
std::size_t PooledConvolution::window_line() const {
  return rounded_up((kSide + 1) * sizes_.channels, kWideLanes);
}

PooledConvolution::PooledConvolution(const PooledConvolutionSizes& sizes, const float* filters,
                                     const Strides& filter_strides, const float* bias, bool rounds)
    : sizes_(sizes),
      rounds_(rounds),
      bias_(rounded_up(sizes.filters, kFiltersAtOnce)),
      pairs_(bias_.size() * sizes.channels * kSide * kSide),
      shifted_(2 * sizes.filters * kSide * window_line()) {
  if (bias != nullptr) std::copy(bias, bias + sizes.filters, bias_.begin());
  if (rounds) round_line(bias_.data(), bias_.size());
  for (std::size_t row = 0; row < sizes.out_height(); ++row) {
    for (std::size_t column = 0; column < sizes.out_width(); ++column) {
      corners_.push_back(
          static_cast<std::uint32_t>(2 * row * line() + 2 * column * sizes.channels));
    }
  }
  for (std::size_t filter = 0; filter < sizes.filters; ++filter) {
    const std::size_t pair = filter / kFiltersAtOnce;
    for (std::size_t channel = 0; channel < sizes.channels; ++channel) {
      for (std::size_t row = 0; row < kSide; ++row) {
        const std::size_t pair_row = (pair * sizes.channels + channel) * kSide + row;
        float* line = &pairs_[(pair_row * kFiltersAtOnce + filter % kFiltersAtOnce) * kSide];
        for (std::size_t column = 0; column < kSide; ++column) {
          line[column] = filters[at(filter_strides, filter, channel, row, column)];
        }
        if (rounds) round_line(line, kSide);
        for (std::size_t shift = 0; shift < 2; ++shift) {
          float* window = &shifted_[shifted(shift, filter) + row * window_line()];
          for (std::size_t column = 0; column < kSide; ++column) {
            window[(column + shift) * sizes.channels + channel] = line[column];
          }
        }
      }
    }
  }
}

void PooledConvolution::forward(const StridedImages& images, float* out,
                                std::uint8_t* argmax) const {
  const Strides& image_strides = images.strides;
  const std::size_t out_width = sizes_.out_width();
  const bool is_narrow = out_width <= kNarrowLanes || !has_wide_vectors();
  const std::size_t lanes = is_narrow ? kNarrowLanes : kWideLanes;
  const std::size_t out_line = rounded_up(out_width, lanes);
  // The last results need two columns more of either parity.
  const std::size_t half_line = std::max(out_line, padded_width() / 2) + 2;
  SplitPlanes planes;
  planes.odd = half_line;
  planes.line = 2 * half_line;
  planes.channel = padded_height() * planes.line;
  std::vector<float> pixels(sizes_.channels * planes.channel);
  const std::size_t size = sizes_.out_height() * out_line;
  std::vector<float> results(kFiltersAtOnce * 4 * size);
  std::vector<float> best(size);
  std::vector<std::int32_t> place(size);
  for (std::size_t image = 0; image < images.count; ++image) {
    for (std::size_t channel = 0; channel < sizes_.channels; ++channel) {
      for (std::size_t row = 0; row < sizes_.height; ++row) {
        const float* from = images.data + at(image_strides, image, channel, row, 0);
        float* to = &pixels[channel * planes.channel + (row + sizes_.padding) * planes.line];
        float* halves[] = {to, to + half_line};
        const std::size_t half = sizes_.padding / 2;
        const std::size_t odd = sizes_.padding % 2;
        split_line(from, image_strides.column, sizes_.width, halves[odd] + half,
                   halves[1 - odd] + half + odd);
      }
    }
    if (rounds_) round_line(pixels.data(), pixels.size());
    for (std::size_t filter = 0; filter < sizes_.filters; filter += kFiltersAtOnce) {
      const FilterPair pair{&pairs_[filter * sizes_.channels * kSide * kSide], sizes_.channels};
      for (std::size_t row = 0; row < sizes_.out_height(); ++row) {
        for (std::size_t column = 0; column < out_line; column += lanes) {
          planes.even = &pixels[2 * row * planes.line + column];
          (is_narrow ? convolve_narrow : convolve_wide)(planes, pair, size,
                                                        &results[row * out_line + column]);
        }
      }
      for (std::size_t k = 0; k < kFiltersAtOnce && filter + k < sizes_.filters; ++k) {
        pool(&results[4 * k * size], size, bias_[filter + k], rounds_, best.data(), place.data());
        for (std::size_t row = 0; row < sizes_.out_height(); ++row) {
          out = std::copy_n(&best[row * out_line], out_width, out);
          for (std::size_t x = 0; x < out_width; ++x) {
            *argmax++ = static_cast<std::uint8_t>(place[row * out_line + x]);
          }
        }
      }
    }
  }
}

std::size_t PooledConvolution::sums_size() const { return sizes_.filters * filter_sums(); }

void PooledConvolution::backward(const StridedImages& images, const float* gradients,
                                 const std::uint8_t* argmax, float* sums,
                                 float* image_gradients) const {
  const Strides& image_strides = images.strides;
  const std::size_t outputs = sizes_.out_pixels();
  // Values read past a line's last pixel are not used.
  std::vector<float> image(padded_height() * line() + window_line());
  std::vector<float> gradient_of_image(image_gradients != nullptr ? image.size() : 0);
  std::vector<std::uint32_t> place(outputs);
  std::vector<float> chosen(rounded_up(outputs, kWideLanes));
  const PatchGradients patches{place.data(), chosen.data(), outputs};
  const auto add = has_wide_vectors() ? add_filter_gradient_wide : add_filter_gradient_narrow;
  const bool is_interleaved = image_strides.channel == 1 && image_strides.column == sizes_.channels;
  for (std::size_t i = 0; i < images.count; ++i) {
    for (std::size_t row = 0; row < sizes_.height; ++row) {
      float* to = image.data() + (row + sizes_.padding) * line() + sizes_.padding * sizes_.channels;
      const float* from = images.data + at(image_strides, i, 0, row, 0);
      if (is_interleaved) {
        std::copy_n(from, sizes_.width * sizes_.channels, to);
      } else {
        for (std::size_t channel = 0; channel < sizes_.channels; ++channel) {
          const float* plane = from + channel * image_strides.channel;
          for (std::size_t x = 0; x < sizes_.width; ++x) {
            to[x * sizes_.channels + channel] = plane[x * image_strides.column];
          }
        }
      }
      if (rounds_) round_line(to, sizes_.width * sizes_.channels);
    }
    const std::size_t first = i * sizes_.filters * outputs;
    for (std::size_t filter = 0; filter < sizes_.filters; ++filter) {
      float* of_filter = sums + filter * filter_sums();
      choose(argmax + first + filter * outputs, gradients + first + filter * outputs,
             corners_.data(), line(), sizes_.channels, patches);
      add(image.data(), line(), patches, filter_line(), of_filter);
    }
    if (image_gradients == nullptr) continue;
    add_windows(gradients + first, argmax + first, gradient_of_image);
    float* to = image_gradients + i * sizes_.channels * sizes_.height * sizes_.width;
    for (std::size_t channel = 0; channel < sizes_.channels; ++channel) {
      for (std::size_t row = 0; row < sizes_.height; ++row) {
        const float* from = gradient_of_image.data() + (row + sizes_.padding) * line() +
                            sizes_.padding * sizes_.channels + channel;
        for (std::size_t x = 0; x < sizes_.width; ++x) *to++ = from[x * sizes_.channels];
      }
    }
  }
}

// The results that one pooled pixel was chosen from see a window of 6x6 pixels: what all filters
// send back there is summed before it joins the image's, whose windows overlap.
void PooledConvolution::add_windows(const float* gradients, const std::uint8_t* argmax,
                                    std::vector<float>& image) const {
  const std::size_t outputs = corners_.size();
  std::vector<float> window((kSide + 1) * window_line());
  std::fill(image.begin(), image.end(), 0.0F);
  for (std::size_t k = 0; k < outputs; ++k) {
    std::fill(window.begin(), window.end(), 0.0F);
    add_to_window({gradients + k, argmax + k, outputs, sizes_.filters}, shifted_.data(),
                  window_line(), window.data());
    for (std::size_t row = 0; row <= kSide; ++row) {
      add_line(&window[row * window_line()], window_line(), &image[corners_[k] + row * line()]);
    }
  }
}

void PooledConvolution::read_sums(const float* sums, float* filters, const Strides& filter_strides,
                                  float* bias) const {
  for (std::size_t filter = 0; filter < sizes_.filters; ++filter) {
    const float* from = sums + filter * filter_sums();
    if (bias != nullptr) {
      const float* lanes = from + kSide * filter_line();
      bias[filter] = std::accumulate(lanes, lanes + kWideLanes, 0.0F);
    }
    for (std::size_t channel = 0; channel < sizes_.channels; ++channel) {
      for (std::size_t row = 0; row < kSide; ++row) {
        for (std::size_t column = 0; column < kSide; ++column) {
          filters[at(filter_strides, filter, channel, row, column)] =
              from[row * filter_line() + column * sizes_.channels + channel];
        }
      }
    }
  }
}

}  // namespace tandem::kernels
