#include "picture_region.hpp"

#include <cmath>
#include <new>
#include <utility>

#include "picture_decoder.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {
namespace {

constexpr int kWholeSize = PictureDecoder::kWholeSize;

// The smallest of the sizes 1/8, 1/4, 1/2 and 1 at which the region still has as many pixels as the
// image on each side. libjpeg-turbo has vector instructions for these only, and is slower at 5/8
// than at the whole size.
int fewest_eighths(const Region& region, ImageShape shape) {
  int eighths = 1;
  while (eighths < kWholeSize && (region.height * eighths < shape.height * kWholeSize ||
                                  region.width * eighths < shape.width * kWholeSize)) {
    eighths *= 2;
  }
  return eighths;
}

// One side of a region of the reduced picture.
struct ReducedSide {
  int first = 0;
  RegionResizer::Side side;
};

// `whole`: number of rows or columns of the upright picture. If `is_mirrored`, they are stored from
// the last to the first. The last stored one of the reduced picture may cover a part of a pixel.
ReducedSide reduced(int begin, int length, int whole, bool is_mirrored, int eighths) {
  const double scale = static_cast<double>(eighths) / kWholeSize;
  const double shift = is_mirrored ? std::ceil(whole * scale) - whole * scale : 0;
  const double begins_at = begin * scale + shift;
  const double first = std::floor(begins_at);
  const double end = std::ceil((begin + length) * scale + shift);
  return {static_cast<int>(first),
          {static_cast<int>(end - first), static_cast<float>(begins_at - first),
           static_cast<float>(length * scale)}};
}

}  // namespace

void make_region(const StoredPicture& file, const ChooseRegion& choose, Decoding decoding,
                 ImageShape shape, RegionResizer& resizer, std::uint8_t* out) try {
  const auto decoder = open_picture(file.bytes, file.where);
  const PictureExtent stored = decoder->extent();
  require_fitting(stored, file.where, kMaxPicturePixels);
  const PictureExtent whole = upright(stored);
  const Region region = choose(whole.height, whole.width);
  const int eighths =
      decoding == Decoding::kScaled ? decoder->reduce(fewest_eighths(region, shape)) : kWholeSize;
  const ReducedSide rows = reduced(region.top, region.height, whole.height,
                                   has_mirrored_rows(stored.orientation), eighths);
  const ReducedSide columns = reduced(region.left, region.width, whole.width,
                                      has_mirrored_columns(stored.orientation), eighths);
  resizer.begin(rows.side, columns.side, shape, out);
  // Gray is every color of a gray picture.
  const bool is_simple = stored.orientation == 1 && (shape.channels == 3 || !stored.has_color);
  const RegionResizer::Steps steps =
      stored.has_color ? RegionResizer::Steps{3, 1} : RegionResizer::Steps{1, 0};
  if (is_simple &&
      decoder->decode_region({rows.first, columns.first, rows.side.count, columns.side.count},
                             [&](const std::uint8_t* row) { resizer.add_row(row, steps); })) {
    return;
  }
  Picture picture = decoder->decode();
  limit_channels(picture, shape.channels);
  picture = upright(std::move(picture));
  const auto step = static_cast<std::ptrdiff_t>(picture.channels);
  for (int y = rows.first; y < rows.first + rows.side.count; ++y) {
    const std::ptrdiff_t pixel = static_cast<std::ptrdiff_t>(y) * picture.width + columns.first;
    resizer.add_row(picture.values.data() + pixel * step, {step, step == 1 ? 0 : 1});
  }
} catch (const std::bad_alloc&) {
  throw_out_of_memory(file.where);
}

}  // namespace tandem::data
