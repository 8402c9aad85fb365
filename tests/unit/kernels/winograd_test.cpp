#include "tandem/kernels/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "convolution_cases.hpp"
#include "tandem/core/random.hpp"
#include "tandem/kernels/bfloat16.hpp"
#include "tandem/kernels/convolution.hpp"

namespace tandem::kernels {
namespace {

// Numbers of a form, in its format, and as doubles. At first none is a number.
struct Numbers {
  Numbers(const WinogradForm& form, std::size_t size)
      : is_bf16(numbers_of(form) == ImageNumbers::kBfloat16),
        floats(is_bf16 ? 0 : size, std::nanf("")),
        bits(is_bf16 ? size : 0, 0x7FC0) {}
  const void* data() const {
    return is_bf16 ? static_cast<const void*>(bits.data()) : floats.data();
  }
  void* data() { return is_bf16 ? static_cast<void*>(bits.data()) : floats.data(); }
  double operator[](std::size_t i) const {
    return is_bf16 ? float_of_bfloat16(bits[i]) : floats[i];
  }
  bool operator==(const Numbers& other) const {
    return floats == other.floats && bits == other.bits;
  }

  bool is_bf16;
  std::vector<float> floats;
  std::vector<std::uint16_t> bits;
};

// Uniform in -1 to 1.
Numbers noise(const WinogradForm& form, std::size_t size, std::uint64_t seed) {
  CounterRandom random{seed, 1};
  Numbers numbers(form, size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto value = static_cast<float>(2 * random.uniform() - 1);
    if (numbers.is_bf16) {
      numbers.bits[i] = bfloat16_of_float(value);
    } else {
      numbers.floats[i] = value;
    }
  }
  return numbers;
}

// Odd sizes, with and without padding; channels that fill no vector, a part of a panel, several
// panels; tiles that fill no block of 48 or 96, and several.
const ConvolutionCase kWinogradCases[] = {
    {"OneImageOfFewChannels", sizes_of(1, 3, 5, 7, 5, 3, 1, 1)},
    {"NoPadding", sizes_of(3, 3, 7, 6, 8, 3, 1, 0)},
    {"OneTile", sizes_of(1, 24, 4, 4, 24, 3, 1, 1)},
    {"ASinglePixel", sizes_of(2, 4, 1, 1, 4, 3, 1, 1)},
    {"AFilterAsLargeAsItsImage", sizes_of(5, 24, 3, 3, 7, 3, 1, 0)},
    {"PartsOfPanels", sizes_of(7, 24, 9, 11, 72, 3, 1, 1)},
    {"ManyTiles", sizes_of(7, 64, 15, 15, 64, 3, 1, 1)},
    {"SeveralPanelsOfOddChannels", sizes_of(3, 81, 6, 5, 97, 3, 1, 2)},
    {"OneChannel", sizes_of(4, 1, 9, 9, 1, 3, 1, 1)},
    {"AVectorAndOne", sizes_of(3, 17, 7, 7, 33, 3, 1, 0)},
    {"ManyTilesWithoutPadding", sizes_of(4, 64, 16, 16, 24, 3, 1, 0)},
};

class Trial {
 public:
  Trial(const WinogradForm& form, const ConvolutionSizes& sizes) : form_(form), sizes_(sizes) {}

  struct Results {
    Numbers out, of_images;
    std::vector<float> of_filters;
  };
  Results run(const ForEach& for_each) const {
    const Winograd convolution(sizes_, form_, for_each);
    Results results{Numbers(form_, out_size()), Numbers(form_, images_size()),
                    std::vector<float>(filters_size(), std::nanf(""))};
    convolution.forward(images().data(), filters().data(), results.out.data());
    convolution.image_gradient(gradient().data(), filters().data(), results.of_images.data());
    convolution.filter_gradient(images().data(), gradient().data(), results.of_filters.data());
    return results;
  }

  std::size_t images_size() const {
    return sizes_.images * sizes_.height * sizes_.width * sizes_.channels;
  }
  std::size_t filters_size() const { return sizes_.filters * 9 * sizes_.channels; }
  std::size_t out_size() const {
    return sizes_.images * sizes_.out_height() * sizes_.out_width() * sizes_.filters;
  }
  std::size_t tiles() const {
    const std::size_t side = tile_side_of(form_);
    return sizes_.images * ((sizes_.out_height() + side - 1) / side) *
           ((sizes_.out_width() + side - 1) / side);
  }

  // Of results whose products are sums of `terms`: each number is the sum of products of points
  // with independent errors, whose relative size the matrices amplify. With rows b, g and columns a
  // of the matrices of one side, this is the sum over points of |a|^2 |b|^2 |g|^2 by the square of
  // a result, 3 m for m results: 5/3 for F(2,3) and 4.78 for F(4,3), in two dimensions; likewise
  // for the gradient of filters. Operands are rounded to bfloat16; or each of about 8 additions of
  // a transformed operand rounds to fp32, and the sum's partial sums, which are half as long on
  // average.
  double error_of_sums(std::size_t terms) const {
    const bool has_bf16_products = tile_side_of(form_) == 2;
    const double count = static_cast<double>(terms);
    return has_bf16_products ? 5.0 / 3 * std::sqrt(2) * kBfloat16Rounding
                             : 4.78 * std::sqrt(16 + count / 2) * kFp32Rounding;
  }
  double error_of_results(std::size_t terms) const {
    const bool is_bf16 = numbers_of(form_) == ImageNumbers::kBfloat16;
    return std::hypot(error_of_sums(terms), is_bf16 ? kBfloat16Rounding : 0);
  }
  // Few numbers, and images of few pixels, deviate from the mean.
  static constexpr double kMargin = 1.6;
  // Roots of the mean squares of relative errors.
  static constexpr double kBfloat16Rounding = 1.66e-3, kFp32Rounding = kBfloat16Rounding / 65536;

  Numbers images() const { return noise(form_, images_size(), 1); }
  Numbers filters() const { return noise(form_, filters_size(), 2); }
  Numbers gradient() const { return noise(form_, out_size(), 3); }

  void expect_the_convolution() const;

 private:
  const WinogradForm& form_;
  const ConvolutionSizes sizes_;
};

// The root of the mean square of the differences, by that of the expected.
template <class Found>
double relative_error(const Found& found, const std::vector<double>& expected) {
  double difference = 0, square = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    square += expected[i] * expected[i];
  }
  return std::sqrt(difference / square);
}

void Trial::expect_the_convolution() const {
  const Numbers images = this->images(), filters = this->filters(), gradient = this->gradient();
  std::vector<double> out(out_size()), of_images(images_size()), of_filters(filters_size());
  for_each_product(sizes_, [&](std::size_t i, std::size_t f, std::size_t o) {
    out[o] += images[i] * filters[f];
    of_images[i] += gradient[o] * filters[f];
    of_filters[f] += images[i] * gradient[o];
  });
  const Results found = run(in_turn);
  EXPECT_LT(relative_error(found.out, out), kMargin * error_of_results(sizes_.channels));
  EXPECT_LT(relative_error(found.of_images, of_images), kMargin * error_of_results(sizes_.filters));
  EXPECT_LT(relative_error(found.of_filters, of_filters), kMargin * error_of_sums(tiles()));
}

class WinogradOf : public ::testing::TestWithParam<const WinogradForm*> {};

TEST_P(WinogradOf, IsTheConvolution) {
  for (const ConvolutionCase& of : kWinogradCases) {
    SCOPED_TRACE(of.name);
    Trial(*GetParam(), of.sizes).expect_the_convolution();
  }
}

TEST_P(WinogradOf, DoesNotDependOnTheOrderOfTasks) {
  for (const ConvolutionCase& of : kWinogradCases) {
    SCOPED_TRACE(of.name);
    const Trial trial(*GetParam(), of.sizes);
    const Trial::Results one = trial.run(in_turn), other = trial.run(backwards);
    EXPECT_TRUE(one.out == other.out);
    EXPECT_TRUE(one.of_images == other.of_images);
    EXPECT_EQ(one.of_filters, other.of_filters);
  }
}

TEST(BestWinogradForm, HasProductsOfBfloat16WhereTheyAreFaster) {
  const WinogradForm* form = best_winograd_form(ImageNumbers::kBfloat16);
  if (form == nullptr) return;  // too old a processor
  const std::vector<const WinogradForm*> all = winograd_forms();
  const bool has_bf16 = std::any_of(all.begin(), all.end(), [](const WinogradForm* each) {
    return name_of(*each) == "AVX512-BF16";
  });
  EXPECT_EQ(name_of(*form) == "AVX512-BF16", has_bf16 && has_fast_bf16()) << name_of(*form);
  EXPECT_EQ(numbers_of(*form), ImageNumbers::kBfloat16);
}

INSTANTIATE_TEST_SUITE_P(Forms, WinogradOf, ::testing::ValuesIn(winograd_forms()),
                         [](const auto& of) {
                           std::string name(name_of(*of.param));
                           name.erase(std::remove_if(name.begin(), name.end(),
                                                     [](char c) { return !std::isalnum(c); }),
                                      name.end());
                           return name;
                         });

}  // namespace
}  // namespace tandem::kernels
