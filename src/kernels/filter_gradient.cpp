#include <algorithm>

#include "layer.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tiles.hpp"

namespace tandem::kernels {
namespace {

// The size of packed images, and of packed gradients, whose products are summed before others are
// packed: together they fit into a second-level cache of 2 MiB.
constexpr std::size_t kPanelSize = (std::size_t{1} << 20) / sizeof(std::uint16_t);

// A panel is packed at a time: some rows of results in 32 images, or all rows in a multiple of 32
// images, and the image rows that these use.
struct Panel {
  std::size_t group = 0, groups = 0;  // of 32 images
  std::size_t row = 0, rows = 0;      // of results
  std::size_t in_row = 0, in_rows = 0;
};

// One side of the products: a panel's pixels, packed as tile of channels, 32 images, row, column.
struct Packed {
  explicit Packed(const Images& packed) : images(packed) {}

  // For 32 images.
  std::size_t row_size() const { return images.width * images.tiles() * kTileSize; }
  std::uint16_t* row(std::size_t tile, std::size_t groups, std::size_t group, std::size_t rows,
                     std::size_t row) const {
    return array.data() + ((tile * groups + group) * rows + row) * images.width * kTileSize;
  }

  const Images& images;
  AlignedArray<std::uint16_t> array{0};
};

class FilterGradient {
 public:
  FilterGradient(const Layer& layer, const TileFunctions& tiles, const ForEach& for_each, bool adds)
      : layer_(layer),
        tiles_(tiles),
        for_each_(for_each),
        adds_(adds),
        groups_(tiles_for(layer.images)),
        images_(layer.in),
        gradient_(layer.out),
        rows_(row_overlaps(layer, &TapOverlap::tap)),
        columns_(column_overlaps(layer, &TapOverlap::tap)) {
    const std::size_t sums_size =
        layer_.in.tiles() * layer_.out.tiles() * layer_.taps() * kTileSize;
    panel_rows_ = layer_.out.height;
    panel_groups_ = groups_;
    if (2 * kPanelSize + sums_size * (sizeof(float) / sizeof(std::uint16_t)) < whole_size()) {
      while (panel_rows_ > 1 && !fits(1)) panel_rows_ = (panel_rows_ + 1) / 2;
      if (panel_rows_ < layer_.out.height) panel_groups_ = 1;
      while (panel_groups_ > 1 && !fits(panel_groups_)) --panel_groups_;
    }
    images_.array = AlignedArray<std::uint16_t>(panel_groups_ * in_rows() * images_.row_size());
    gradient_.array =
        AlignedArray<std::uint16_t>(panel_groups_ * panel_rows_ * gradient_.row_size());
    const bool is_one_panel = panel_groups_ == groups_ && panel_rows_ == layer_.out.height;
    if (!is_one_panel) sums_ = AlignedArray<float>(sums_size);
  }

  void run(const std::uint16_t* images, const std::uint16_t* gradient, float* out) {
    for (std::size_t group = 0; group < groups_; group += panel_groups_) {
      for (std::size_t row = 0; row < layer_.out.height; row += panel_rows_) {
        const Panel panel = panel_from(group, row);
        for_each_(panel.groups * (panel.in_rows + panel.rows), [&](std::size_t task) {
          const std::size_t some = task % panel.groups, line = task / panel.groups;
          if (line < panel.in_rows) {
            pack(images_, images, panel.group + some, panel.in_row + line, tiles_.pack_right,
                 [&](std::size_t tile) {
                   return images_.row(tile, panel.groups, some, panel.in_rows, line);
                 });
          } else {
            const std::size_t result = line - panel.in_rows;
            pack(gradient_, gradient, panel.group + some, panel.row + result,
                 tiles_.pack_transposed_left, [&](std::size_t tile) {
                   return gradient_.row(tile, panel.groups, some, panel.rows, result);
                 });
          }
        });
        for_each_(layer_.out.tiles() * layer_.in.tiles() * layer_.taps(),
                  [&](std::size_t task) { add_products(panel, task, out); });
      }
    }
  }

 private:
  // Image rows that a panel's rows of results use; fewer at an edge.
  std::size_t in_rows() const {
    return std::min(layer_.in.height, (panel_rows_ - 1) * layer_.stride + layer_.filter_rows);
  }
  // Of one panel of all images, which needs no sums. Sums are larger than it if images are small.
  std::size_t whole_size() const {
    return groups_ * (in_rows() * images_.row_size() + panel_rows_ * gradient_.row_size());
  }
  bool fits(std::size_t groups) const {
    return groups * in_rows() * images_.row_size() <= kPanelSize &&
           groups * panel_rows_ * gradient_.row_size() <= kPanelSize;
  }

  Panel panel_from(std::size_t group, std::size_t row) const {
    Panel panel{group,
                std::min(panel_groups_, groups_ - group),
                row,
                std::min(panel_rows_, layer_.out.height - row),
                layer_.in.height,
                0};
    std::size_t end = 0;
    for (const auto& of_tap : rows_) {
      for (const TapOverlap& y : of_tap) {
        if (y.out < row || y.out >= row + panel.rows) continue;
        panel.in_row = std::min(panel.in_row, y.in);
        end = std::max(end, y.in + 1);
      }
    }
    panel.in_rows = end > panel.in_row ? end - panel.in_row : 0;
    return panel;
  }

  // One row of 32 images; target(tile) is where that of 32 channels goes.
  template <class Target>
  void pack(const Packed& side, const std::uint16_t* all, std::size_t group, std::size_t row,
            void (*pack_tile)(const TileSource&, std::uint16_t*), const Target& target) const {
    const Images& images = side.images;
    const std::uint16_t* from =
        all + group * kTileSide * images.image_stride + row * images.row_stride;
    for (std::size_t column = 0; column < images.width; ++column) {
      for (std::size_t tile = 0; tile < images.tiles(); ++tile) {
        pack_tile({from + column * images.pixel_stride + tile * kTileSide, images.image_stride,
                   in_tile(layer_.images, group), in_tile(images.channels, tile)},
                  target(tile) + column * kTileSize);
      }
    }
  }

  // The products of 32 filters, 32 channels and a tap.
  void add_products(const Panel& panel, std::size_t task, float* out) const {
    const std::size_t tap = task % layer_.taps(), tiles = task / layer_.taps();
    const std::size_t filter = tiles / layer_.in.tiles(), channel = tiles % layer_.in.tiles();
    const bool is_first = panel.group == 0 && panel.row == 0;
    const bool is_last =
        panel.group + panel.groups == groups_ && panel.row + panel.rows == layer_.out.height;
    const TileScope scope(tiles_);
    std::vector<TileProduct> products;
    alignas(64) float last_sums[kTileSize];
    for (std::size_t group = 0; group < panel.groups; ++group) {
      for (const TapOverlap& y : rows_[tap / layer_.filter_columns]) {
        if (y.out < panel.row || y.out >= panel.row + panel.rows) continue;
        const std::uint16_t* left =
            gradient_.row(filter, panel.groups, group, panel.rows, y.out - panel.row);
        const std::uint16_t* right =
            images_.row(channel, panel.groups, group, panel.in_rows, y.in - panel.in_row);
        for (const TapOverlap& x : columns_[tap % layer_.filter_columns]) {
          products.push_back({left + x.out * kTileSize, right + x.in * kTileSize});
        }
      }
    }
    // One panel keeps no sums.
    float* kept = is_first && is_last ? nullptr : sums_.data() + task * kTileSize;
    tiles_.multiply(products.data(), products.size(), is_first ? nullptr : kept,
                    is_last ? last_sums : kept);
    if (is_last) write(last_sums, filter, channel, tap, out);
  }

  void write(const float* sums, std::size_t filter, std::size_t channel, std::size_t tap,
             float* out) const {
    for (std::size_t k = 0; k < in_tile(layer_.out.channels, filter); ++k) {
      float* to = out + ((filter * kTileSide + k) * layer_.taps() + tap) * layer_.in.channels;
      to += channel * kTileSide;
      const float* line = sums + k * kTileSide;
      for (std::size_t c = 0; c < in_tile(layer_.in.channels, channel); ++c) {
        to[c] = (adds_ ? to[c] : 0.0F) + line[c];
      }
    }
  }

  const Layer& layer_;
  const TileFunctions& tiles_;
  const ForEach& for_each_;
  const bool adds_;
  const std::size_t groups_;
  Packed images_, gradient_;
  const std::vector<std::vector<TapOverlap>> rows_, columns_;  // by tap
  std::size_t panel_rows_ = 0, panel_groups_ = 1;
  AlignedArray<float> sums_{0};  // of earlier panels: tile of filters, of channels, tap
};

}  // namespace

void Convolution::filter_gradient(const std::uint16_t* images, const std::uint16_t* gradient,
                                  float* out, bool adds) const {
  const Layer layer = folded(sizes_);
  FilterGradient(layer, tiles_, for_each_, adds).run(images, gradient, out);
}

}  // namespace tandem::kernels
