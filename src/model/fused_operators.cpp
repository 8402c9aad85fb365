#include "tandem/model/fused_operators.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "kernel_calls.hpp"

// The library is part of the engine, so a program without GPU has the schemas, too.
TORCH_LIBRARY(tandem, library) {
  library.def(
      "augment(Tensor images, Tensor drawn, Tensor scale, Tensor offset, ScalarType dtype, "
      "bool channels_last) -> Tensor");
  library.def(
      "norm_forward(Tensor x, Tensor? weight, Tensor bias, Tensor? residual, "
      "Tensor(a!)? running_mean, Tensor(b!)? running_var, float momentum, float epsilon, int pool, "
      "int activation) -> (Tensor y, Tensor pooled, Tensor choice, Tensor factors)");
  library.def(
      "norm_backward(Tensor gradient, Tensor input, Tensor choice, Tensor factors, "
      "Tensor? residual, int[] size, int pool, int activation) -> (Tensor of_x, Tensor of_weight, "
      "Tensor of_bias, Tensor of_residual)");
  library.def("bias_activation(Tensor x, Tensor bias, int activation) -> Tensor");
  library.def("bias_gradient(Tensor gradient, Tensor x, Tensor bias, int activation) -> Tensor");
  library.def(
      "cross_entropy(Tensor logits, Tensor labels, float smoothing, Tensor scale, "
      "Tensor(a!) sums) -> Tensor");
  library.def(
      "unscale_and_clip(Tensor(a!) gradients, Tensor? loss_scale, float clip_norm, "
      "Tensor(b!) norm, Tensor(c!) skipped) -> ()");
  library.def(
      "add_up(Tensor(a!) sums, Tensor(b!) last, Tensor(c!) step_sums, Tensor skipped, Tensor step, "
      "Tensor images) -> ()");
  library.def("restore_where(Tensor(a!)[] to, Tensor[] from, Tensor condition) -> ()");
  library.def(
      "muon_begin(Tensor(a!) values, Tensor(b!) velocity, Tensor gradients, Tensor(c!) direction, "
      "Tensor(d!) squares, Tensor table, Tensor skipped, Tensor rate, Tensor steps, "
      "float[] options) -> ()");
  library.def("muon_stack(Tensor direction, Tensor squares, Tensor table, Tensor(a!) stack) -> ()");
  library.def(
      "muon_end(Tensor(a!) values, Tensor(b!) steps, Tensor stack, Tensor squares, Tensor table, "
      "Tensor skipped, Tensor rate) -> ()");
}

namespace tandem::model::fused {
namespace {

using torch::Tensor;
using MaybeTensor = c10::optional<Tensor>;

c10::OperatorHandle find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

}  // namespace

bool available(torch::DeviceType device) {
  return find("tandem::add_up")
      .hasKernelForDispatchKey(device == torch::kCUDA ? c10::DispatchKey::CUDA
                                                      : c10::DispatchKey::CPU);
}

Tensor augment(const Augment& from, torch::Dtype type, bool channels_last) {
  static const auto kCall = find("tandem::augment")
                                .typed<Tensor(const Tensor&, const Tensor&, const Tensor&,
                                              const Tensor&, at::ScalarType, bool)>();
  return kCall.call(from.images, from.drawn, from.scale, from.offset, type, channels_last);
}

NormOutput norm_forward(const NormInput& input, NormForm form) {
  static const auto kCall = find("tandem::norm_forward")
                                .typed<std::tuple<Tensor, Tensor, Tensor, Tensor>(
                                    const Tensor&, const MaybeTensor&, const Tensor&,
                                    const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
                                    double, double, std::int64_t, std::int64_t)>();
  auto [y, pooled, choice, factors] = kCall.call(
      input.x, present(input.weight), input.bias, present(input.residual),
      present(input.running_mean), present(input.running_variance), input.momentum, input.epsilon,
      static_cast<std::int64_t>(form.pool), static_cast<std::int64_t>(form.activation));
  return {y, pooled, choice, factors};
}

NormGradients norm_backward(const Tensor& gradient, const NormSaved& saved, NormForm form) {
  static const auto kCall =
      find("tandem::norm_backward")
          .typed<std::tuple<Tensor, Tensor, Tensor, Tensor>(
              const Tensor&, const Tensor&, const Tensor&, const Tensor&, const MaybeTensor&,
              at::IntArrayRef, std::int64_t, std::int64_t)>();
  auto [of_x, of_weight, of_bias, of_residual] =
      kCall.call(gradient, saved.input, saved.choice, saved.factors, present(saved.residual),
                 {saved.height, saved.width}, static_cast<std::int64_t>(form.pool),
                 static_cast<std::int64_t>(form.activation));
  return {of_x, of_weight, of_bias, of_residual};
}

Tensor bias_activation(const Tensor& x, const Tensor& bias, Activation activation) {
  static const auto kCall =
      find("tandem::bias_activation").typed<Tensor(const Tensor&, const Tensor&, std::int64_t)>();
  return kCall.call(x, bias, static_cast<std::int64_t>(activation));
}

Tensor bias_gradient(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                     Activation activation) {
  static const auto kCall =
      find("tandem::bias_gradient")
          .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, std::int64_t)>();
  return kCall.call(gradient, x, bias, static_cast<std::int64_t>(activation));
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing,
                     const Tensor& scale, const Tensor& sums) {
  static const auto kCall =
      find("tandem::cross_entropy")
          .typed<Tensor(const Tensor&, const Tensor&, double, const Tensor&, const Tensor&)>();
  return kCall.call(logits, labels, smoothing, scale, sums);
}

void unscale_and_clip(const Tensor& gradients, const Tensor& loss_scale, double clip_norm,
                      const Tensor& norm, const Tensor& skipped) {
  static const auto kCall =
      find("tandem::unscale_and_clip")
          .typed<void(const Tensor&, const MaybeTensor&, double, const Tensor&, const Tensor&)>();
  kCall.call(gradients, present(loss_scale), clip_norm, norm, skipped);
}

void add_up(const StepSums& sums, const Tensor& skipped, const Tensor& step, const Tensor& images) {
  static const auto kCall = find("tandem::add_up")
                                .typed<void(const Tensor&, const Tensor&, const Tensor&,
                                            const Tensor&, const Tensor&, const Tensor&)>();
  kCall.call(sums.sums, sums.last, sums.step, skipped, step, images);
}

void restore_where(const std::vector<Tensor>& to, const std::vector<Tensor>& from,
                   const Tensor& condition) {
  static const auto kCall =
      find("tandem::restore_where").typed<void(at::TensorList, at::TensorList, const Tensor&)>();
  kCall.call(to, from, condition);
}

void muon_begin(const MuonArrays& arrays, const MuonNumbers& numbers) {
  static const auto kCall =
      find("tandem::muon_begin")
          .typed<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      at::ArrayRef<double>)>();
  kCall.call(
      arrays.values, arrays.velocity, arrays.gradients, arrays.direction, arrays.squares,
      arrays.table, arrays.skipped, arrays.rate, arrays.steps,
      {numbers.momentum, numbers.nesterov ? 1.0 : 0.0, numbers.sgd_momentum, numbers.weight_decay,
       numbers.head_rate, numbers.bias_rate, numbers.early_steps, numbers.peak});
}

void muon_stack(const MuonArrays& arrays) {
  static const auto kCall =
      find("tandem::muon_stack")
          .typed<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&)>();
  kCall.call(arrays.direction, arrays.squares, arrays.table, arrays.stack);
}

void muon_end(const MuonArrays& arrays, const Tensor& updates) {
  static const auto kCall =
      find("tandem::muon_end")
          .typed<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&, const Tensor&)>();
  kCall.call(arrays.values, arrays.steps, updates, arrays.squares, arrays.table, arrays.skipped,
             arrays.rate);
}

}  // namespace tandem::model::fused
