#include "kernel_calls.hpp"
#include "layers.hpp"

namespace tandem::model {
namespace {

struct TabulatedGelu : public torch::autograd::Function<TabulatedGelu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const c10::intrusive_ptr<Gelu::Tables>& tables) {
    const torch::Tensor in = x.is_non_overlapping_and_dense() ? x : x.contiguous();
    torch::Tensor out = torch::empty_like(in);
    kernels::gelu(tables->tables, bits_of(in), bits_of(out), static_cast<std::size_t>(in.numel()));
    context->save_for_backward({in});
    context->saved_data["tables"] = c10::IValue::make_capsule(tables);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor in = context->get_saved_variables().front();
    const auto tables = saved_as<Gelu::Tables>(context, "tables");
    torch::Tensor gradient = gradients.front().to(torch::kBFloat16);
    torch::Tensor out = torch::empty_like(in);
    // In the order in which the elements of `in` lie.
    if (gradient.strides() != in.strides()) gradient = torch::empty_like(in).copy_(gradient);
    kernels::gelu_gradient(tables->tables, bits_of(in), bits_of(gradient), bits_of(out),
                           static_cast<std::size_t>(in.numel()));
    return {out, torch::Tensor()};
  }
};

// Backward is one product: the derivative takes the place of x, which it would need.
struct DifferentiatedGelu : public torch::autograd::Function<DifferentiatedGelu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x) {
    const torch::Tensor in = x.is_non_overlapping_and_dense() ? x : x.contiguous();
    torch::Tensor out = torch::empty_like(in);
    torch::Tensor slope = torch::empty_like(in);
    at::parallel_for(0, in.numel(), kNumbersAtOnce, [&](std::int64_t begin, std::int64_t end) {
      kernels::gelu_and_slope(in.data_ptr<float>() + begin, static_cast<std::size_t>(end - begin),
                              out.data_ptr<float>() + begin, slope.data_ptr<float>() + begin);
    });
    context->save_for_backward({slope});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {gradients.front() * context->get_saved_variables().front()};
  }

 private:
  static constexpr std::int64_t kNumbersAtOnce = 1 << 14;
};

}  // namespace

Gelu::Gelu() : tables_(c10::make_intrusive<Tables>()) {}

torch::Tensor Gelu::operator()(const torch::Tensor& x) const {
  const bool is_on_cpu = x.device().is_cpu();
  if (is_on_cpu && x.scalar_type() == torch::kBFloat16) return TabulatedGelu::apply(x, tables_);
  const bool is_trained = torch::GradMode::is_enabled() && x.requires_grad();
  if (is_on_cpu && x.scalar_type() == torch::kFloat32 && is_trained) {
    return DifferentiatedGelu::apply(x);
  }
  return torch::gelu(x);
}

}  // namespace tandem::model
