#include <algorithm>

#include "call.hpp"

namespace tandem::gpu {
namespace {

constexpr std::int64_t kNumbersOfThread = 8;
constexpr std::int64_t kMostStepBlocks = 1024;

torch::Tensor doubles(const torch::Tensor& beside, std::int64_t count) {
  return torch::empty({count}, beside.options().dtype(torch::kFloat64));
}

}  // namespace

void cross_entropy(torch::jit::Stack& stack) {
  Call call(stack, 5);
  const torch::Tensor logits = call.tensor(0), labels = call.tensor(1);
  TORCH_CHECK(logits.dim() == 2 && logits.size(0) > 0 && labels.numel() == logits.size(0) &&
                  call.tensor(4).numel() == 2,
              "cross_entropy: expected logits [N, classes], N labels and 2 sums, found ",
              logits.sizes(), ", ", labels.sizes(), " and ", call.tensor(4).sizes());
  const torch::Tensor gradient = torch::empty_like(logits);
  const std::int64_t blocks = divided_up(logits.size(0), kLossRows);
  const torch::Tensor partial = doubles(logits, 2 * blocks);
  LossArguments arguments{};
  arguments.logits = call.array<void>(0, logits.scalar_type(), logits);
  arguments.labels =
      reinterpret_cast<const Long*>(call.array<std::int64_t>(1, torch::kInt64, logits));
  arguments.smoothing = static_cast<float>(call.at(2).toDouble());
  arguments.scale = call.array<float>(3, torch::kFloat32, logits);
  arguments.sums = call.array<double>(4, torch::kFloat64, logits);
  arguments.gradient = gradient.data_ptr();
  arguments.partial = partial.data_ptr<double>();
  arguments.tickets = tickets_of(logits.device(), 1);
  arguments.rows = logits.size(0);
  arguments.classes = static_cast<int>(logits.size(1));
  launcher().launch(logits.device(), {"cross_entropy" + suffix_of(logits.scalar_type()), blocks},
                    &arguments);
  call.give(gradient);
}

void unscale_and_clip(torch::jit::Stack& stack) {
  Call call(stack, 5);
  const torch::Tensor gradients = call.tensor(0);
  const std::int64_t blocks = std::clamp<std::int64_t>(
      divided_up(gradients.numel(), kThreads * kNumbersOfThread), 1, kMostStepBlocks);
  const torch::Tensor partial = doubles(gradients, blocks);
  const torch::Tensor factors = torch::empty({2}, gradients.options());
  GradientArguments arguments{};
  arguments.gradients = call.array<float>(0, torch::kFloat32, gradients);
  arguments.loss_scale = call.array<float>(1, torch::kFloat32, gradients);
  arguments.clip_norm = call.at(2).toDouble();
  arguments.norm = call.array<double>(3, torch::kFloat64, gradients);
  arguments.skipped = call.array<float>(4, torch::kFloat32, gradients);
  arguments.factors = factors.data_ptr<float>();
  arguments.partial = partial.data_ptr<double>();
  arguments.tickets = tickets_of(gradients.device(), 1);
  arguments.size = gradients.numel();
  launcher().launch(gradients.device(), {"gradient_norm_all", blocks}, &arguments);
  if (arguments.loss_scale != nullptr || arguments.clip_norm > 0) {
    launcher().launch(gradients.device(), {"scale_gradients_all", blocks}, &arguments);
  }
  call.give_nothing();
}

void add_up(torch::jit::Stack& stack) {
  Call call(stack, 6);
  const torch::Tensor sums = call.tensor(0);
  TORCH_CHECK(sums.numel() == 6 && call.tensor(1).numel() == 3 && call.tensor(2).numel() == 2,
              "add_up: expected 6, 3 and 2 sums, found ", sums.numel(), ", ",
              call.tensor(1).numel(), " and ", call.tensor(2).numel());
  StepSumsArguments arguments{};
  arguments.sums = call.array<double>(0, torch::kFloat64, sums);
  arguments.last = call.array<double>(1, torch::kFloat64, sums);
  arguments.step = call.array<double>(2, torch::kFloat64, sums);
  arguments.skipped = call.array<float>(3, torch::kFloat32, sums);
  arguments.number = call.array<double>(4, torch::kFloat64, sums);
  arguments.images = call.array<double>(5, torch::kFloat64, sums);
  launcher().launch(sums.device(), {"add_step_all", 1, 1, 1}, &arguments);
  call.give_nothing();
}

void restore_where(torch::jit::Stack& stack) {
  Call call(stack, 3);
  const std::vector<torch::Tensor> to = call.at(0).toTensorVector();
  const std::vector<torch::Tensor> from = call.at(1).toTensorVector();
  const torch::Tensor condition = call.tensor(2);
  TORCH_CHECK(to.size() == from.size(), "restore_where: expected as many tensors to copy from as ",
              "to, found ", from.size(), " and ", to.size());
  for (std::size_t first = 0; first < to.size(); first += kMostCopies) {
    CopyArguments arguments{};
    arguments.condition = call.array<float>(2, torch::kFloat32, condition);
    const std::size_t count = std::min<std::size_t>(kMostCopies, to.size() - first);
    std::int64_t most = 1;
    for (std::size_t i = 0; i < count; ++i) {
      const torch::Tensor &target = to[first + i], &source = from[first + i];
      TORCH_CHECK(target.sizes() == source.sizes() && target.strides() == source.strides() &&
                      target.scalar_type() == source.scalar_type() &&
                      target.device() == condition.device() &&
                      source.device() == condition.device() &&
                      target.is_non_overlapping_and_dense(),
                  "restore_where: tensor ", first + i, " differs from its source");
      arguments.to[i] = target.data_ptr();
      arguments.from[i] = source.data_ptr();
      arguments.bytes[i] = static_cast<Long>(target.nbytes());
      most = std::max(most, static_cast<std::int64_t>(target.nbytes()));
    }
    const std::int64_t blocks = std::min(divided_up(most, kThreads), kMostStepBlocks);
    launcher().launch(condition.device(),
                      {"copy_where_all", blocks, static_cast<std::int64_t>(count)}, &arguments);
  }
  call.give_nothing();
}

}  // namespace tandem::gpu
