#include "tandem/data/fit_picture.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>

#include "picture_decoder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

// Weights are integers of so many binary digits, as in Pillow's src/libImaging/Resample.c (HPND
// licence), whose roundings these are: a sum of weighted bytes stays within 31 bits.
constexpr int kWeightBits = 32 - 8 - 2;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// The pixels of a row or column that make one pixel of the result.
struct Window {
  int first = 0;
  std::vector<std::int32_t> weights;

  std::size_t begin() const { return static_cast<std::size_t>(first); }
  std::size_t end() const { return begin() + weights.size(); }
};

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

int round_half_up(double value) { return static_cast<int>(std::floor(value + 0.5)); }

// A range of the rows or columns of a resized picture.
struct Range {
  std::int64_t all = 0;  // rows or columns of the whole
  std::int64_t first = 0;
  int count = 0;
};

std::vector<Window> make_windows(int from, Range to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to.all);
  const double half_width = std::max(scale, 1.0);
  std::vector<Window> windows(static_cast<std::size_t>(to.count));
  std::vector<double> weights;
  for (int i = 0; i < to.count; ++i) {
    Window& window = windows[static_cast<std::size_t>(i)];
    const double center = (static_cast<double>(to.first + i) + 0.5) * scale;
    window.first = std::max(round_half_up(center - half_width), 0);
    const int end = std::min(round_half_up(center + half_width), from);
    weights.clear();
    double sum = 0;
    for (int at = window.first; at < end; ++at) {
      const double distance = std::fabs((at - center + 0.5) * (1 / half_width));
      weights.push_back(distance < 1 ? 1 - distance : 0);
      sum += weights.back();
    }
    for (const double weight : weights) {
      window.weights.push_back(round_half_up(weight / sum * (std::int32_t{1} << kWeightBits)));
    }
  }
  return windows;
}

// A row made `windows.size()` pixels wide.
void resize_row(const std::uint8_t* from, std::size_t channels, const std::vector<Window>& windows,
                std::uint8_t* to) {
  for (const Window& window : windows) {
    const std::uint8_t* first = from + static_cast<std::size_t>(window.first) * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      std::int32_t sum = kHalf;
      const std::uint8_t* value = first + c;
      for (const std::int32_t weight : window.weights) {
        sum += weight * *value;
        value += channels;
      }
      *to++ = to_byte(sum);
    }
  }
}

constexpr unsigned kWhite = 255;

// ITU-R 601's weights of red, green and blue, in 65536ths as Pillow has them.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >>
                                   16);
}

std::uint8_t on_white(unsigned value, unsigned alpha) {
  return static_cast<std::uint8_t>((value * alpha + kWhite * (255 - alpha) + 127) / 255);
}

// In place: it writes before the pixels that are still to be read.
void drop_alpha(Picture& picture) {
  if (picture.channels % 2 != 0) return;
  const auto kept = static_cast<std::size_t>(picture.channels - 1);
  std::uint8_t* to = picture.values.data();
  const std::uint8_t* end = to + picture.values.size();
  for (const std::uint8_t* from = to; from != end; from += kept + 1) {
    const unsigned alpha = from[kept];
    for (std::size_t c = 0; c < kept; ++c) *to++ = on_white(from[c], alpha);
  }
  picture.values.resize(static_cast<std::size_t>(to - picture.values.data()));
  picture.channels = static_cast<int>(kept);
}

void to_gray(Picture& picture) {
  if (picture.channels == 1) return;
  const std::size_t pixels = picture.values.size() / 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    picture.values[i] = luma(picture.values.data() + 3 * i);
  }
  picture.values.resize(pixels);
  picture.channels = 1;
}

// Row by row, each added to those of the result that it is a part of: besides the result there is
// never more than a row and the sums, whatever the proportions of the picture.
Picture resize_part(const Picture& picture, Range height, Range width) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t from_row = static_cast<std::size_t>(picture.width) * channels;
  const std::size_t to_row = static_cast<std::size_t>(width.count) * channels;
  const std::vector<Window> columns = make_windows(picture.width, width);
  const std::vector<Window> rows = make_windows(picture.height, height);
  std::vector<std::int32_t> sums(rows.size() * to_row, kHalf);
  std::vector<std::uint8_t> row(to_row);
  std::size_t first = 0;  // of the rows of the result that are not complete
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    const std::uint8_t* values = picture.values.data() + y * from_row;
    if (width.all == picture.width) {
      values += static_cast<std::size_t>(width.first) * channels;
    } else {
      resize_row(values, channels, columns, row.data());
      values = row.data();
    }
    while (first < rows.size() && rows[first].end() <= y) ++first;
    for (std::size_t i = first; i < rows.size() && rows[i].begin() <= y; ++i) {
      if (y >= rows[i].end()) continue;
      const std::int32_t weight = rows[i].weights[y - rows[i].begin()];
      std::int32_t* sum = sums.data() + i * to_row;
      for (std::size_t x = 0; x < to_row; ++x) sum[x] += weight * values[x];
    }
  }
  Picture out{picture.channels, height.count, width.count, {}};
  out.values.resize(sums.size());
  std::transform(sums.begin(), sums.end(), out.values.begin(), to_byte);
  return out;
}

Range center_of(std::int64_t all, int count) {
  // Halves to even, as Python's round().
  return {all, std::llrint(static_cast<double>(all - count) / 2.0), count};
}

}  // namespace

Picture resize(Picture picture, int height, int width) {
  if (height == picture.height && width == picture.width) return picture;
  return resize_part(picture, {height, 0, height}, {width, 0, width});
}

Picture center_crop(const Picture& picture, int height, int width) {
  constexpr std::int64_t kResized = 256;
  constexpr std::int64_t kCropped = 224;
  std::int64_t all_rows = height * kResized / kCropped;
  std::int64_t all_columns = width * kResized / kCropped;
  // Keeps the proportions of the picture, and makes neither side shorter.
  const std::int64_t rows = all_columns * picture.height / picture.width;
  if (rows >= all_rows) {
    all_rows = rows;
  } else {
    all_columns = all_rows * picture.width / picture.height;
  }
  return resize_part(picture, center_of(all_rows, height), center_of(all_columns, width));
}

void require_picture_channels(int channels) {
  if (channels == 1 || channels == 3) return;
  throw UsageError("images of " + std::to_string(channels) +
                   " channels cannot be made of PNG and JPEG files, 1 (gray) or 3 (color) is "
                   "expected");
}

void require_packable_shape(const ImageShape& shape, const std::string& asking) {
  if (shape.pixels() <= kMaxPixels) return;
  throw UsageError("--size: " + asking + " for images of " + shape.text() + ", " +
                   format_count(shape.pixels()) +
                   " values, at most 1,000,000 can be packed (577x577 in color); give a smaller "
                   "height and width, such as 224x224");
}

void limit_channels(Picture& picture, int channels) {
  drop_alpha(picture);
  if (channels == 1) to_gray(picture);
}

void fit_picture(Picture picture, ImageShape shape, std::uint8_t* image, Fit fit) {
  require_picture_channels(shape.channels);
  limit_channels(picture, shape.channels);
  picture = fit == Fit::kCenterCrop ? center_crop(picture, shape.height, shape.width)
                                    : resize(std::move(picture), shape.height, shape.width);
  // Gray is every color of a gray picture.
  const auto step = static_cast<std::size_t>(picture.channels);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    const std::uint8_t* from = picture.values.data() + (step == 1 ? 0 : c);
    for (std::size_t i = 0; i < shape.plane(); ++i) *image++ = from[i * step];
  }
}

bool fit_file(std::string_view bytes, const std::string& where, ImageShape shape,
              MemoryBudget& budget, Fitting fitting, std::uint8_t* image) try {
  MemoryBudget::Share share(budget);
  Picture picture = decode_picture(bytes, where, kMaxPicturePixels,
                                   [&](std::uint64_t memory) { share.take(memory); });
  const bool is_turned = picture.orientation != 1;
  if (fitting.orientation == Orientation::kUpright) picture = upright(std::move(picture));
  fit_picture(std::move(picture), shape, image, fitting.fit);
  return is_turned;
} catch (const std::bad_alloc&) {
  throw_out_of_memory(where);
}

std::uint64_t MemoryBudget::take(std::uint64_t bytes) {
  bytes = std::min(bytes, bytes_);
  std::unique_lock<std::mutex> lock(mutex_);
  given_back_.wait(lock, [&] { return left_ >= bytes; });
  left_ -= bytes;
  return bytes;
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_ += bytes;
  }
  given_back_.notify_all();
}

}  // namespace tandem::data
