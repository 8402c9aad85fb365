#include <algorithm>

#include "call.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::gpu {
namespace {

constexpr std::int64_t kVectorBytes = 16;
// The most blocks that add up, over all tiles: about as many as a large GPU runs at once. The last
// block of a tile adds the sums of the others.
constexpr std::int64_t kMostSums = 512;
constexpr std::int64_t kItemsOfSum = 8, kItemsOfResult = 4;  // a thread's, at least
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

namespace fused = model::fused;
static_assert(kBeforeNorm == static_cast<int>(fused::Pool::kBeforeNorm));
static_assert(kAfterNorm == static_cast<int>(fused::Pool::kAfterNorm));
static_assert(kRelu == static_cast<int>(fused::Activation::kRelu));
static_assert(kGelu == static_cast<int>(fused::Activation::kGelu));

// How the channels are cut.
class Cut {
 public:
  explicit Cut(const torch::Tensor& x) : suffix_(suffix_of(x.scalar_type())) {
    const std::int64_t vector = kVectorBytes / static_cast<std::int64_t>(x.element_size());
    TORCH_CHECK(x.size(1) % vector == 0, "norm: expected a multiple of ", vector,
                " channels, found ", x.size(1));
    while (lanes_ < std::min(x.size(1), std::int64_t{kMostTile}) / vector) lanes_ *= 2;
    tiles_ = divided_up(x.size(1), lanes_ * vector);
  }

  int lanes() const { return static_cast<int>(lanes_); }
  std::int64_t tiles() const { return tiles_; }
  std::int64_t sum_blocks(std::int64_t items) const {
    return std::min(blocks(items, kItemsOfSum), std::max<std::int64_t>(1, kMostSums / tiles_));
  }
  // `pool`: what the kernel does with windows.
  Launch sums(const char* kernel, std::int64_t items, int pool, int activation) const {
    return {name_of(kernel, pool, activation), sum_blocks(items), tiles_};
  }
  Launch results(const char* kernel, std::int64_t items, int pool, int activation) const {
    return {name_of(kernel, pool, activation), std::min(blocks(items, kItemsOfResult), kMostBlocks),
            tiles_};
  }

 private:
  std::int64_t blocks(std::int64_t items, std::int64_t of_thread) const {
    return std::max<std::int64_t>(1, divided_up(items, kThreads / lanes_ * of_thread));
  }
  std::string name_of(const char* kernel, int pool, int activation) const {
    return kernel + suffix_ + "_" + std::to_string(pool) + std::to_string(activation);
  }

  std::string suffix_;
  std::int64_t lanes_ = 1, tiles_ = 1;
};

// Where kernels can read it 16 bytes at a time; a view may lie elsewhere.
torch::Tensor aligned(const torch::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return tensor;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  return address % kVectorBytes == 0 ? tensor : tensor.clone();
}

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
  TORCH_CHECK(a.images * height * width < std::int64_t{1} << 30,
              "norm: expected fewer than 2^30 pixels, found ", a.images, " images of ", height,
              " x ", width);
}

void require_statistics(const NormArguments& a) {
  TORCH_CHECK(a.counted > 1, "batch normalization needs more than one value of a channel, found ",
              a.counted);
}

std::int64_t items_of_result(const NormArguments& a) {
  return a.pool == kAfterNorm ? a.images * (a.height / 2) * (a.width / 2) : a.counted;
}

void require_form(const NormArguments& a, bool has_residual) {
  const bool has_kernels = a.pool == kBeforeNorm ? a.activation == kGelu
                           : a.pool == kAfterNorm
                               ? a.activation == kRelu
                               : a.pool == 0 && a.activation >= 0 && a.activation <= kGelu;
  TORCH_CHECK(has_kernels, "norm: no kernels for pool ", a.pool, ", activation ", a.activation);
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

// Argument i is the bias, the next one the activation.
NormArguments bias_arguments(const Call& call, const torch::Tensor& x, std::size_t i) {
  require_images(x, "x", "bias_activation");
  NormArguments a{};
  a.activation = static_cast<int>(call.at(i + 1).toInt());
  require_form(a, false);
  set_sizes(a, x.size(2), x.size(3), x);
  a.x = x.data_ptr();
  a.bias = channel_floats(call, i, a, 1);
  return a;
}

// The two launches of forward. With kBeforeNorm the second reads the pooled x.
void run_forward(NormArguments& a, const torch::Tensor& x) {
  const bool pools_first = a.pool == kBeforeNorm;
  const Cut cut(x);
  const torch::Tensor sums = floats(x, {cut.sum_blocks(a.counted), 2, a.channels});
  a.lanes = cut.lanes();
  a.sums = sums.data_ptr<float>();
  a.tickets = tickets_of(x.device(), cut.tiles());
  launcher().launch(x.device(),
                    cut.sums("norm_statistics", a.counted, pools_first ? kBeforeNorm : 0, 0), &a);
  if (pools_first) a.x = a.pooled;
  launcher().launch(
      x.device(),
      cut.results("norm_apply", items_of_result(a), pools_first ? 0 : a.pool, a.activation), &a);
}

void run_backward(NormArguments& a, const torch::Tensor& x) {
  const Cut cut(x);
  const std::int64_t items = items_of_result(a);
  const torch::Tensor sums = floats(x, {cut.sum_blocks(items), 2, a.channels});
  const torch::Tensor corrections = floats(x, {2, a.channels});
  a.lanes = cut.lanes();
  a.sums = sums.data_ptr<float>();
  a.corrections = corrections.data_ptr<float>();
  a.tickets = tickets_of(x.device(), cut.tiles());
  const int taken_from = a.pool == kBeforeNorm ? 0 : a.pool;
  launcher().launch(x.device(), cut.sums("norm_gradient_sums", items, taken_from, a.activation),
                    &a);
  const std::int64_t cells =
      a.pool == 0 ? items : a.images * ((a.height + 1) / 2) * ((a.width + 1) / 2);
  launcher().launch(x.device(), cut.results("norm_of_x", cells, a.pool, a.activation), &a);
}

}  // namespace

void norm_forward(torch::jit::Stack& stack) {
  Call call(stack, 10);
  const torch::Tensor x = aligned(call.tensor(0)), residual = aligned(call.maybe(3));
  require_images(x, "x", "norm_forward");
  NormArguments a{};
  a.pool = static_cast<int>(call.at(8).toInt());
  a.activation = static_cast<int>(call.at(9).toInt());
  require_form(a, residual.defined());
  set_sizes(a, x.size(2), x.size(3), x);
  require_statistics(a);
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
  const torch::Tensor x = aligned(call.tensor(1)), residual = aligned(call.maybe(4));
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
  require_statistics(a);
  const torch::Tensor gradient =
      aligned(call.tensor(0).to(x.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast));
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

// A norm whose scale is 1 and whose shift is the bias.
void bias_activation(torch::jit::Stack& stack) {
  Call call(stack, 3);
  const torch::Tensor x = aligned(call.tensor(0));
  NormArguments a = bias_arguments(call, x, 1);
  const torch::Tensor y = torch::empty_like(x);
  a.out = y.data_ptr();
  const Cut cut(x);
  a.lanes = cut.lanes();
  launcher().launch(x.device(), cut.results("norm_apply", a.counted, 0, a.activation), &a);
  call.give(y);
}

void bias_gradient(torch::jit::Stack& stack) {
  Call call(stack, 4);
  const torch::Tensor x = aligned(call.tensor(1));
  NormArguments a = bias_arguments(call, x, 2);
  const torch::Tensor gradient =
      aligned(call.tensor(0).to(x.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast));
  require_like(gradient, x, "gradient");
  const torch::Tensor of_bias = floats(x, {a.channels});
  a.gradient = gradient.data_ptr();
  a.of_bias = of_bias.data_ptr<float>();
  const Cut cut(x);
  const torch::Tensor sums = floats(x, {cut.sum_blocks(a.counted), 2, a.channels});
  a.lanes = cut.lanes();
  a.sums = sums.data_ptr<float>();
  a.tickets = tickets_of(x.device(), cut.tiles());
  launcher().launch(x.device(), cut.sums("norm_gradient_sums", a.counted, 0, a.activation), &a);
  call.give(of_bias);
}

}  // namespace tandem::gpu
