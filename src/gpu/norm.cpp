#include <algorithm>

#include "call.hpp"

namespace tandem::gpu {
namespace {

constexpr std::int64_t kVector = 4;
constexpr std::int64_t kMostLanes = 32;
// Of the sums of a tile, which the last block adds up.
constexpr std::int64_t kMostSums = 512;
constexpr std::int64_t kItemsOfSum = 8, kItemsOfResult = 4;  // a thread's, at least
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

constexpr int kBeforeNorm = 1, kAfterNorm = 2;

// How the channels are cut.
class Cut {
 public:
  Cut(const torch::Tensor& x, std::initializer_list<const void*> pointers)
      : suffix_(suffix_of(x.scalar_type())) {
    const auto bytes = static_cast<std::uintptr_t>(kVector * x.element_size());
    const bool is_wide =
        x.size(1) % kVector == 0 &&
        std::all_of(pointers.begin(), pointers.end(), [bytes](const void* pointer) {
          return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
        });
    suffix_ += is_wide ? "_4" : "_1";
    const std::int64_t groups = is_wide ? x.size(1) / kVector : x.size(1);
    while (lanes_ < std::min(groups, kMostLanes)) lanes_ *= 2;
    tiles_ = divided_up(groups, lanes_);
  }

  int lanes() const { return static_cast<int>(lanes_); }
  std::int64_t tiles() const { return tiles_; }
  std::int64_t sum_blocks(std::int64_t items) const {
    return std::min(blocks(items, kItemsOfSum), kMostSums);
  }
  Launch sums(const char* kernel, std::int64_t items) const {
    return {kernel + suffix_, sum_blocks(items), tiles_};
  }
  Launch results(const char* kernel, std::int64_t items) const {
    return {kernel + suffix_, std::min(blocks(items, kItemsOfResult), kMostBlocks), tiles_};
  }

 private:
  std::int64_t blocks(std::int64_t items, std::int64_t of_thread) const {
    return std::max<std::int64_t>(1, divided_up(items, kThreads / lanes_ * of_thread));
  }
  std::string suffix_;
  std::int64_t lanes_ = 1, tiles_ = 1;
};

void require_images(const torch::Tensor& x, const char* name, const char* operation) {
  TORCH_CHECK(x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast), operation, ": ",
              name, ": expected images in channels-last layout, found ", x.sizes(),
              " with strides ", x.strides());
}

void set_sizes(NormArguments& a, std::int64_t height, std::int64_t width, const torch::Tensor& x) {
  a.images = x.size(0);
  a.channels = static_cast<int>(x.size(1));
  a.height = static_cast<int>(height);
  a.width = static_cast<int>(width);
  const bool pools = a.pool == kBeforeNorm;
  a.counted = pools ? a.images * (height / 2) * (width / 2) : a.images * height * width;
  TORCH_CHECK(a.counted > 1, "batch normalization needs more than one value of a channel, found ",
              a.counted);
}

std::int64_t items_of_result(const NormArguments& a) {
  return a.pool == kAfterNorm ? a.images * (a.height / 2) * (a.width / 2) : a.counted;
}

void require_form(const NormArguments& a, bool has_residual) {
  TORCH_CHECK(a.pool >= 0 && a.pool <= 2 && a.activation >= 0 && a.activation <= 2,
              "norm: no such form: pool ", a.pool, ", activation ", a.activation);
  TORCH_CHECK(a.pool == 0 || !has_residual, "norm: a residual is for norms without pooling");
}

void require_like(const torch::Tensor& tensor, const torch::Tensor& model, const char* name) {
  if (!tensor.defined()) return;
  TORCH_CHECK(tensor.sizes() == model.sizes() && tensor.scalar_type() == model.scalar_type() &&
                  tensor.is_contiguous(at::MemoryFormat::ChannelsLast),
              name, ": expected ", model.scalar_type(), " ", model.sizes(),
              " in channels-last layout, found ", tensor.scalar_type(), " ", tensor.sizes());
}

void* data_of(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.data_ptr() : nullptr;
}

torch::Tensor floats(const torch::Tensor& beside, at::IntArrayRef sizes) {
  return torch::empty(sizes, beside.options().dtype(torch::kFloat32));
}

// Argument i: `rows` floats for each channel. Null if it is not there.
float* channel_floats(const Call& call, std::size_t i, const NormArguments& a, std::int64_t rows) {
  const torch::Tensor tensor = call.maybe(i);
  TORCH_CHECK(!tensor.defined() || tensor.numel() == rows * a.channels, "norm: argument ", i,
              ": expected ", rows, " x ", a.channels, " floats, found ", tensor.sizes());
  return call.array<float>(i, torch::kFloat32, call.tensor(0));
}

// The two launches of forward. The second reads what the first pooled.
void run_forward(NormArguments& a, const torch::Tensor& x) {
  const Cut cut(x, {a.x, a.pooled, a.residual, a.out});
  const torch::Tensor sums = floats(x, {cut.sum_blocks(a.counted), 2, a.channels});
  a.lanes = cut.lanes();
  a.sums = sums.data_ptr<float>();
  a.tickets = tickets_of(x.device(), cut.tiles());
  launcher().launch(x.device(), cut.sums("norm_statistics", a.counted), &a);
  if (a.pool == kBeforeNorm) a.x = a.pooled;
  launcher().launch(x.device(), cut.results("norm_apply", items_of_result(a)), &a);
}

void run_backward(NormArguments& a, const torch::Tensor& x) {
  const Cut cut(x, {a.x, a.gradient, a.residual, a.out, a.of_residual});
  const std::int64_t items = items_of_result(a);
  const torch::Tensor sums = floats(x, {cut.sum_blocks(items), 2, a.channels});
  const torch::Tensor corrections = floats(x, {2, a.channels});
  a.lanes = cut.lanes();
  a.sums = sums.data_ptr<float>();
  a.corrections = corrections.data_ptr<float>();
  a.tickets = tickets_of(x.device(), cut.tiles());
  launcher().launch(x.device(), cut.sums("norm_gradient_sums", items), &a);
  const std::int64_t cells =
      a.pool == 0 ? items : a.images * ((a.height + 1) / 2) * ((a.width + 1) / 2);
  launcher().launch(x.device(), cut.results("norm_of_x", cells), &a);
}

}  // namespace

void norm_forward(torch::jit::Stack& stack) {
  Call call(stack, 10);
  const torch::Tensor x = call.tensor(0), residual = call.maybe(3);
  require_images(x, "x", "norm_forward");
  NormArguments a{};
  a.pool = static_cast<int>(call.at(8).toInt());
  a.activation = static_cast<int>(call.at(9).toInt());
  require_form(a, residual.defined());
  set_sizes(a, x.size(2), x.size(3), x);
  std::vector<std::int64_t> shape = x.sizes().vec();
  if (a.pool != 0) shape[2] /= 2, shape[3] /= 2;
  const auto images = [&] {
    return torch::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
  };
  const torch::Tensor y = images();
  const torch::Tensor pooled = a.pool == kBeforeNorm ? images() : torch::empty({0}, x.options());
  const torch::Tensor choice =
      torch::empty({a.pool == 0 ? 0 : y.numel()}, x.options().dtype(torch::kUInt8));
  const torch::Tensor factors = floats(x, {4, a.channels});
  require_like(residual, y, "residual");
  a.x = x.data_ptr();
  a.residual = data_of(residual);
  a.out = y.data_ptr();
  a.pooled = data_of(pooled);
  a.choice = static_cast<Byte*>(data_of(choice));
  a.factors = factors.data_ptr<float>();
  a.weight = channel_floats(call, 1, a, 1);
  a.bias = channel_floats(call, 2, a, 1);
  a.running_mean = channel_floats(call, 4, a, 1);
  a.running_variance = channel_floats(call, 5, a, 1);
  a.momentum = call.at(6).toDouble();
  a.epsilon = call.at(7).toDouble();
  run_forward(a, x);
  call.give(y, pooled, choice, factors);
}

void norm_backward(torch::jit::Stack& stack) {
  Call call(stack, 8);
  const torch::Tensor x = call.tensor(1), residual = call.maybe(4);
  require_images(x, "input", "norm_backward");
  NormArguments a{};
  a.pool = static_cast<int>(call.at(6).toInt());
  a.activation = static_cast<int>(call.at(7).toInt());
  require_form(a, residual.defined());
  const auto size = call.at(5).toIntVector();
  const std::int64_t shrinks = a.pool == kBeforeNorm ? 2 : 1;
  TORCH_CHECK(size.size() == 2 && x.size(2) == size[0] / shrinks && x.size(3) == size[1] / shrinks,
              "norm_backward: the input has the shape ", x.sizes(),
              ", which does not belong to an x of height and width ", size);
  set_sizes(a, size[0], size[1], x);
  const torch::Tensor gradient =
      call.tensor(0).to(x.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
  const std::int64_t results = items_of_result(a) * a.channels;
  TORCH_CHECK(gradient.numel() == results && gradient.device() == x.device() &&
                  (a.pool == 0 || call.tensor(2).numel() == results),
              "norm_backward: expected ", results, " gradients and choices on ", x.device(),
              ", found ", gradient.numel(), " and ", call.tensor(2).numel());
  const torch::Tensor of_x = torch::empty({a.images, a.channels, size[0], size[1]}, x.options(),
                                          at::MemoryFormat::ChannelsLast);
  const torch::Tensor of_weight = floats(x, {a.channels}), of_bias = floats(x, {a.channels});
  const torch::Tensor of_residual =
      residual.defined() ? torch::empty_like(of_x) : torch::empty({0}, x.options());
  require_like(residual, of_x, "residual");
  a.x = x.data_ptr();
  a.gradient = gradient.data_ptr();
  a.residual = data_of(residual);
  a.out = of_x.data_ptr();
  a.of_residual = data_of(of_residual);
  a.choice = call.array<Byte>(2, torch::kUInt8, x);
  a.factors = channel_floats(call, 3, a, 4);
  a.of_weight = of_weight.data_ptr<float>();
  a.of_bias = of_bias.data_ptr<float>();
  run_backward(a, x);
  call.give(of_x, of_weight, of_bias, of_residual);
}

}  // namespace tandem::gpu
