#include "picture_ops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "color_loops.hpp"

namespace tandem::data {
namespace {

template <typename ValueOf>
std::array<std::uint8_t, 256> make_table(const ValueOf& value_of) {
  std::array<std::uint8_t, 256> table{};
  for (int value = 0; value < 256; ++value) {
    table[static_cast<std::size_t>(value)] = value_of(value);
  }
  return table;
}

// Places in the source, in units of 2^-kPlaceBits pixels, so that every host rounds alike. Result
// (y, x) comes from row[0] + x * row[1] + y * row[2], and the same for column.
constexpr int kPlaceBits = 32;
struct Affine {
  std::array<std::int64_t, 3> row;
  std::array<std::int64_t, 3> column;
};

// The linear part [[xx, xy], [yx, yy]] maps coordinates relative to the center. A shift follows.
struct Matrix {
  double xx = 1, xy = 0, yx = 0, yy = 1;
  double shift_x = 0, shift_y = 0;
};

Matrix matrix_of(const PictureOp& op, const ImageShape& shape) {
  Matrix matrix;
  switch (op.kind) {
    case PictureOpKind::kShearX:  // about the upper left corner
      matrix.xy = op.amount;
      matrix.shift_x = op.amount * shape.height / 2;
      break;
    case PictureOpKind::kShearY:
      matrix.yx = op.amount;
      matrix.shift_y = op.amount * shape.width / 2;
      break;
    case PictureOpKind::kTranslateX:
      matrix.shift_x = -op.amount;
      break;
    case PictureOpKind::kTranslateY:
      matrix.shift_y = -op.amount;
      break;
    default: {
      const double angle = op.amount * 3.14159265358979323846 / 180;
      matrix = {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle), 0, 0};
    }
  }
  return matrix;
}

Affine affine_of(const PictureOp& op, const ImageShape& shape) {
  const Matrix matrix = matrix_of(op, shape);
  const double center_y = (shape.height - 1) / 2.0;
  const double center_x = (shape.width - 1) / 2.0;
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::llround(std::ldexp(value, kPlaceBits)));
  };
  // The half makes a shift right round.
  const double x = center_x - matrix.xx * center_x - matrix.xy * center_y + matrix.shift_x + 0.5;
  const double y = center_y - matrix.yx * center_x - matrix.yy * center_y + matrix.shift_y + 0.5;
  return {{fixed(y), fixed(matrix.yx), fixed(matrix.yy)},
          {fixed(x), fixed(matrix.xx), fixed(matrix.xy)}};
}

}  // namespace

void PictureOps::replace(const Table& table, std::uint8_t* first, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) first[i] = table[first[i]];
}

void PictureOps::scale_brightness(float factor, std::uint8_t* pixels) const {
  const Table table =
      make_table([factor](int value) { return cut_to_byte(static_cast<float>(value) * factor); });
  replace(table, pixels, shape_.pixels());
}

// Mixed with the mean of the gray picture.
void PictureOps::scale_contrast(float factor, std::uint8_t* pixels) const {
  const std::size_t plane = shape_.plane();
  const std::uint64_t sum = shape_.channels == 3
                                ? sum_of_gray({pixels, pixels + plane, pixels + 2 * plane, plane})
                                : std::accumulate(pixels, pixels + plane, std::uint64_t{0});
  const auto mean = static_cast<float>(static_cast<double>(sum) / static_cast<double>(plane));
  const Table table = make_table([factor, mean](int value) {
    return cut_to_byte(static_cast<float>(value) * factor + mean * (1 - factor));
  });
  replace(table, pixels, shape_.pixels());
}

// Mixed with a blurred picture: a mean of 3x3 pixels, in which the one in the middle counts five
// times. Pixels at an edge stay.
void PictureOps::sharpen(float factor, std::uint8_t* pixels) {
  const int width = shape_.width;
  if (shape_.height <= 2 || width <= 2) return;
  plane_.resize(shape_.plane());
  for (int channel = 0; channel < shape_.channels; ++channel) {
    std::uint8_t* const plane = pixels + static_cast<std::size_t>(channel) * shape_.plane();
    std::copy_n(plane, plane_.size(), plane_.begin());
    for (int y = 1; y < shape_.height - 1; ++y) {
      const std::ptrdiff_t row = std::ptrdiff_t{y} * width;
      const std::uint8_t* const from = plane_.data() + row;
      std::uint8_t* const to = plane + row;
      for (int x = 1; x < width - 1; ++x) {
        const std::uint8_t* const above = from + x - width;
        const std::uint8_t* const below = from + x + width;
        const int sum = above[-1] + above[0] + above[1] + from[x - 1] + 5 * from[x] + from[x + 1] +
                        below[-1] + below[0] + below[1];
        const int blurred = (2 * sum + 13) / 26;  // sum / 13, rounded; 13 is odd, so never a half
        to[x] = cut_to_byte(static_cast<float>(from[x]) +
                            (1 - factor) * static_cast<float>(blurred - from[x]));
      }
    }
  }
}

void PictureOps::posterize(int bits, std::uint8_t* pixels) const {
  const int mask = 0xFF & ~((1 << (8 - bits)) - 1);
  const std::size_t count = shape_.pixels();
  for (std::size_t i = 0; i < count; ++i) pixels[i] = static_cast<std::uint8_t>(pixels[i] & mask);
}

void PictureOps::solarize(float threshold, std::uint8_t* pixels) const {
  const Table table = make_table([threshold](int value) {
    return static_cast<std::uint8_t>(static_cast<float>(value) >= threshold ? 255 - value : value);
  });
  replace(table, pixels, shape_.pixels());
}

void PictureOps::stretch_contrast(std::uint8_t* plane) const {
  const auto [least, most] = std::minmax_element(plane, plane + shape_.plane());
  if (*least == *most) return;
  const auto begin = static_cast<float>(*least);
  const float scale = (static_cast<float>(*most) - begin) * static_cast<float>(1.0 / 255);
  const Table table = make_table([begin, scale](int value) {
    return cut_to_byte((static_cast<float>(value) - begin) / scale);
  });
  replace(table, plane, shape_.plane());
}

// ImageOps.equalize() of Pillow.
void PictureOps::equalize(std::uint8_t* plane) const {
  const std::size_t count = shape_.plane();
  std::array<std::uint32_t, 256> histogram{};
  for (std::size_t i = 0; i < count; ++i) ++histogram[plane[i]];
  const auto last = std::find_if(histogram.rbegin(), histogram.rend(),
                                 [](std::uint32_t each) { return each > 0; });
  const auto step = (static_cast<std::uint32_t>(count) - *last) / 255;
  if (step == 0) return;
  Table table{};
  std::uint32_t before = 0;
  for (std::size_t value = 0; value < table.size(); ++value) {
    const std::uint32_t place = value == 0 ? 0 : (before + step / 2) / step;
    table[value] = static_cast<std::uint8_t>(std::min<std::uint32_t>(place, 255));
    before += histogram[value];
  }
  replace(table, plane, count);
}

void PictureOps::move(const PictureOp& op, std::uint8_t* pixels) {
  const Affine source = affine_of(op, shape_);
  plane_.resize(shape_.plane());
  for (int channel = 0; channel < shape_.channels; ++channel) {
    std::uint8_t* to = pixels + static_cast<std::size_t>(channel) * shape_.plane();
    std::copy_n(to, plane_.size(), plane_.begin());
    for (int y = 0; y < shape_.height; ++y) {
      std::int64_t row = source.row[0] + y * source.row[2];
      std::int64_t column = source.column[0] + y * source.column[2];
      for (int x = 0; x < shape_.width; ++x) {
        const std::int64_t from_y = row >> kPlaceBits;
        const std::int64_t from_x = column >> kPlaceBits;
        const bool is_inside =
            from_y >= 0 && from_y < shape_.height && from_x >= 0 && from_x < shape_.width;
        *to++ = is_inside ? plane_[static_cast<std::size_t>(from_y * shape_.width + from_x)] : 0;
        row += source.row[1];
        column += source.column[1];
      }
    }
  }
}

void PictureOps::apply(const PictureOp& op, std::uint8_t* pixels) {
  const std::size_t plane = shape_.plane();
  const auto amount = static_cast<float>(op.amount);
  const ColorPlanes colors{pixels, pixels + plane, pixels + 2 * plane, plane};
  const bool is_color = shape_.channels == 3;
  switch (op.kind) {
    case PictureOpKind::kBrightness:
      return scale_brightness(amount, pixels);
    case PictureOpKind::kContrast:
      return scale_contrast(amount, pixels);
    case PictureOpKind::kSaturation:
      return is_color ? scale_saturation(colors, amount) : void();
    case PictureOpKind::kHue:
      return is_color ? turn_hue(colors, amount) : void();
    case PictureOpKind::kSharpness:
      return sharpen(amount, pixels);
    case PictureOpKind::kPosterize:
      return posterize(static_cast<int>(op.amount), pixels);
    case PictureOpKind::kSolarize:
      return solarize(amount, pixels);
    case PictureOpKind::kAutoContrast:
    case PictureOpKind::kEqualize:
      for (int channel = 0; channel < shape_.channels; ++channel, pixels += plane) {
        if (op.kind == PictureOpKind::kEqualize) equalize(pixels);
        if (op.kind == PictureOpKind::kAutoContrast) stretch_contrast(pixels);
      }
      return;
    default:
      return move(op, pixels);
  }
}

}  // namespace tandem::data
