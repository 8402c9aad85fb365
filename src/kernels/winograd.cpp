#include "tandem/kernels/winograd.hpp"

#include <algorithm>
#include <utility>

#include "layer.hpp"
#include "tandem/kernels/convolution.hpp"
#include "winograd_form.hpp"

namespace tandem::kernels {
namespace {

// V and M of a block fit into the second-level cache if there are few channels. With many channels,
// each element of U is used often.
constexpr std::size_t kTilesOfBlock = 48, kMinTilesOfBlock = 24;
constexpr std::size_t kMinBlocks = 8;        // for several threads
constexpr std::size_t kColumnsOfBlock = 64;  // of M; a multiple of every form's panel
// Filter gradients: products of this many tiles are summed in registers before they are added to D,
// which is large. The order of sums does not depend on the number of threads.
constexpr std::size_t kTilesOfSum = 96, kTilesOfTask = 8;
constexpr std::size_t kFiltersOfPanel = 48;  // of A y A^T; a multiple of 6 rows
// Padding between matrices of points, and between rows of V. At distances of a power of two, their
// cache lines would share few sets of the first-level cache.
constexpr std::size_t kApart = 16;
constexpr std::size_t kMaxLanes = 16;

std::size_t parts_of(std::size_t whole, std::size_t part) { return (whole + part - 1) / part; }
std::size_t whole_parts_of(std::size_t whole, std::size_t part) {
  return parts_of(whole, part) * part;
}

std::size_t bytes_of(ImageNumbers numbers) { return numbers == ImageNumbers::kFp32 ? 4 : 2; }

// Operands of all points of a form, and the addresses of some of them.
class Operands {
 public:
  Operands(const WinogradForm& form, const OperandLayout& layout)
      : layout_(layout),
        bytes_(form.operand_bytes),
        memory_(form.points() * layout.point * form.operand_bytes) {}
  const OperandLayout& layout() const { return layout_; }
  void* data() const { return memory_.data(); }
  void* at(std::size_t operand) const { return memory_.data() + operand * bytes_; }

 private:
  const OperandLayout layout_;
  const std::size_t bytes_;
  const AlignedArray<unsigned char> memory_;
};

// Panels of `of_panel` columns, one after another; `depth` rows lie side by side.
OperandLayout panels(const WinogradForm& form, std::size_t rows, std::size_t columns,
                     std::size_t of_panel) {
  OperandLayout layout;
  layout.columns = of_panel;
  layout.rows = of_panel * form.depth;
  layout.panel = parts_of(rows, form.depth) * layout.rows;
  layout.point = parts_of(columns, of_panel) * layout.panel + kApart;
  return layout;
}

TileGrid grid_of(const Images& images, const Images& tiled, const WinogradForm& form,
                 std::size_t padding) {
  return {images.height,
          images.width,
          images.channels,
          parts_of(tiled.height, form.tile),
          parts_of(tiled.width, form.tile),
          padding};
}

// Forwards, or backwards to the images: both read tiles and write tiles.
struct WinogradDirection {
  TileGrid from, to;
  void (*pack_filters)(const void* filters, const FilterShape& shape, std::size_t panel,
                       const OperandLayout& to, void* out);
};

class WinogradPass {
 public:
  WinogradPass(const ConvolutionSizes& sizes, const WinogradForm& form, const ForEach& for_each,
               const WinogradDirection& direction)
      : form_(form),
        for_each_(for_each),
        direction_(direction),
        shape_{sizes.filters, sizes.channels},
        tiles_(sizes.images * direction.to.tile_rows * direction.to.tile_columns),
        block_(std::clamp(whole_parts_of(parts_of(tiles_, kMinBlocks), kMinTilesOfBlock),
                          kMinTilesOfBlock, kTilesOfBlock)),
        zeros_(direction.from.channels * bytes_of(form.numbers)),
        filters_(form, panels(form, direction.from.channels, direction.to.channels, form.panel)) {}

  void run(const void* from, const void* filters, void* out) const {
    for_each_(parts_of(direction_.to.channels, form_.panel), [&](std::size_t panel) {
      direction_.pack_filters(filters, shape_, panel, filters_.layout(), filters_.data());
    });
    for_each_(parts_of(tiles_, block_), [&](std::size_t block) {
      const std::size_t first = block * block_;
      compute(from, {first, std::min(block_, tiles_ - first)}, out);
    });
  }

 private:
  void compute(const void* from, TileRange tiles, void* out) const {
    OperandLayout rows;
    rows.rows = whole_parts_of(direction_.from.channels, kMaxLanes) + kApart;
    rows.point = tiles.count * rows.rows + kApart;
    const Operands images(form_, rows);
    form_.read_rows({direction_.from, from, zeros_.data()}, tiles, rows, images.data());

    const SumsLayout layout{tiles.count * kColumnsOfBlock + kApart, kColumnsOfBlock};
    const AlignedArray<float> sums(form_.points() * layout.point);
    const std::size_t columns = direction_.to.channels;
    for (std::size_t first = 0; first < columns; first += kColumnsOfBlock) {
      const std::size_t count = std::min(kColumnsOfBlock, columns - first);
      for (std::size_t point = 0; point < form_.points(); ++point) {
        for (std::size_t column = 0; column < count; column += form_.panel) {
          multiply(images, point, first + column, tiles.count,
                   sums.data() + point * layout.point + column);
        }
      }
      form_.write_tiles(sums.data(), layout, direction_.to, tiles, count,
                        static_cast<unsigned char*>(out) + first * bytes_of(form_.numbers));
    }
  }

  void multiply(const Operands& images, std::size_t point, std::size_t column, std::size_t tiles,
                float* sums) const {
    const OperandLayout& right = filters_.layout();
    PanelProduct product;
    product.left = images.at(point * images.layout().point);
    product.left_row = images.layout().rows;
    product.left_step = form_.depth;
    product.right = filters_.at(point * right.point + column / form_.panel * right.panel);
    product.steps = parts_of(direction_.from.channels, form_.depth);
    product.rows = tiles;
    product.columns = std::min(form_.panel, direction_.to.channels - column);
    product.sums = sums;
    product.sums_row = kColumnsOfBlock;
    form_.multiply(product);
  }

  const WinogradForm& form_;
  const ForEach& for_each_;
  const WinogradDirection& direction_;
  const FilterShape shape_;
  const std::size_t tiles_, block_;
  const std::vector<unsigned char> zeros_;
  const Operands filters_;  // U
};

class FilterGradientPass {
 public:
  FilterGradientPass(const ConvolutionSizes& sizes, const WinogradForm& form,
                     const ForEach& for_each)
      : form_(form),
        for_each_(for_each),
        in_(grid_of(Layer(sizes).in, Layer(sizes).out, form, sizes.padding)),
        out_(grid_of(Layer(sizes).out, Layer(sizes).out, form, 0)),
        tiles_(sizes.images * in_.tile_rows * in_.tile_columns),
        zeros_(std::max(in_.channels, out_.channels) * bytes_of(form.numbers)),
        images_(form, panels(form, kTilesOfSum, in_.channels, form.panel)),
        gradient_(form, panels(form, kTilesOfSum, out_.channels, kFiltersOfPanel)),
        sums_point_(parts_of(in_.channels, form.panel) * out_.channels * form.panel + kApart),
        sums_(form.points() * sums_point_) {}

  void run(const void* images, const void* gradient, bool adds, float* out) const {
    const std::size_t panels_of_channels = parts_of(in_.channels, form_.panel);
    for (std::size_t first = 0; first < tiles_; first += kTilesOfSum) {
      const std::size_t count = std::min(kTilesOfSum, tiles_ - first);
      for_each_(parts_of(count, kTilesOfTask), [&](std::size_t task) {
        const std::size_t begin = task * kTilesOfTask;
        read(images, gradient, first, begin, std::min(kTilesOfTask, count - begin));
      });
      for_each_(form_.points() * panels_of_channels, [&](std::size_t task) {
        multiply(task / panels_of_channels, task % panels_of_channels, count, first > 0);
      });
    }
    for_each_(out_.channels, [&](std::size_t filter) { write(filter, adds, out); });
  }

 private:
  void read(const void* images, const void* gradient, std::size_t first, std::size_t begin,
            std::size_t count) const {
    const TileRange tiles{first + begin, count};
    const std::size_t row = begin / form_.depth;
    form_.read_images({in_, images, zeros_.data()}, tiles, images_.layout(),
                      images_.at(row * images_.layout().rows));
    form_.read_gradients({out_, gradient, zeros_.data()}, tiles, gradient_.layout(),
                         gradient_.at(row * gradient_.layout().rows));
  }

  // Rows of D are filters, its columns are channels.
  void multiply(std::size_t point, std::size_t panel, std::size_t tiles, bool adds) const {
    const OperandLayout &left = gradient_.layout(), &right = images_.layout();
    PanelProduct product;
    product.left_row = form_.depth;
    product.left_step = left.rows;
    product.right = images_.at(point * right.point + panel * right.panel);
    product.steps = parts_of(tiles, form_.depth);
    product.columns = std::min(form_.panel, in_.channels - panel * form_.panel);
    product.sums_row = form_.panel;
    product.adds = adds;
    for (std::size_t filter = 0; filter < out_.channels; filter += kFiltersOfPanel) {
      product.left = gradient_.at(point * left.point + filter / kFiltersOfPanel * left.panel);
      product.rows = std::min(kFiltersOfPanel, out_.channels - filter);
      product.sums = sums_of(point, panel, filter);
      form_.multiply(product);
    }
  }

  void write(std::size_t filter, bool adds, float* out) const {
    for (std::size_t channel = 0; channel < in_.channels; channel += form_.panel) {
      form_.write_filters(sums_of(0, channel / form_.panel, filter), sums_point_,
                          std::min(form_.panel, in_.channels - channel), in_.channels, adds,
                          out + filter * kTaps * in_.channels + channel);
    }
  }

  float* sums_of(std::size_t point, std::size_t panel, std::size_t filter) const {
    return sums_.data() + point * sums_point_ + (panel * out_.channels + filter) * form_.panel;
  }

  static constexpr std::size_t kTaps = 9;
  const WinogradForm& form_;
  const ForEach& for_each_;
  const TileGrid in_, out_;
  const std::size_t tiles_;
  const std::vector<unsigned char> zeros_;
  const Operands images_, gradient_;  // V and A y A^T of kTilesOfSum tiles
  const std::size_t sums_point_;
  const AlignedArray<float> sums_;  // D: point, panel of channels, filter, channel
};

}  // namespace

const WinogradForm* best_winograd_form(ImageNumbers numbers) {
  const WinogradForm* of_bf16 = avx512_bf16_winograd();
  if (numbers == ImageNumbers::kBfloat16 && of_bf16 && has_fast_bf16()) return of_bf16;
  if (avx512_winograd(numbers)) return avx512_winograd(numbers);
  return avx2_winograd(numbers);
}

std::vector<const WinogradForm*> winograd_forms() {
  std::vector<const WinogradForm*> forms = portable_winograd_forms();
  for (const WinogradForm* form :
       {avx2_winograd(ImageNumbers::kFp32), avx2_winograd(ImageNumbers::kBfloat16),
        avx512_winograd(ImageNumbers::kFp32), avx512_winograd(ImageNumbers::kBfloat16),
        avx512_bf16_winograd()}) {
    if (form) forms.push_back(form);
  }
  return forms;
}

std::string_view name_of(const WinogradForm& form) { return form.name; }
ImageNumbers numbers_of(const WinogradForm& form) { return form.numbers; }
std::size_t tile_side_of(const WinogradForm& form) { return form.tile; }

Winograd::Winograd(const ConvolutionSizes& sizes, const WinogradForm& form, ForEach for_each)
    : sizes_(sizes), form_(form), for_each_(std::move(for_each)) {}

void Winograd::forward(const void* images, const void* filters, void* out) const {
  const Layer layer(sizes_);
  const WinogradDirection direction{grid_of(layer.in, layer.out, form_, sizes_.padding),
                                    grid_of(layer.out, layer.out, form_, 0), form_.pack_filters};
  WinogradPass(sizes_, form_, for_each_, direction).run(images, filters, out);
}

// A convolution of the results' gradient with the filters rotated by 180 degrees.
void Winograd::image_gradient(const void* gradient, const void* filters, void* out) const {
  const Layer layer(sizes_);
  const WinogradDirection direction{grid_of(layer.out, layer.in, form_, 2 - sizes_.padding),
                                    grid_of(layer.in, layer.in, form_, 0),
                                    form_.pack_flipped_filters};
  WinogradPass(sizes_, form_, for_each_, direction).run(gradient, filters, out);
}

void Winograd::filter_gradient(const void* images, const void* gradient, float* out,
                               bool adds) const {
  FilterGradientPass(sizes_, form_, for_each_).run(images, gradient, adds, out);
}

}  // namespace tandem::kernels
