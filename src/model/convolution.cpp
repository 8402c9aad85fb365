#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/model/autocast.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tile_convolution.hpp"
#include "winograd_convolution.hpp"

namespace tandem::model {
namespace {

// Also backwards: the gradient passes through bfloat16 on its way.
torch::Tensor rounded(const torch::Tensor& x) { return x.to(torch::kBFloat16).to(torch::kFloat32); }

}  // namespace

torch::Tensor Conv2dImpl::forward(const torch::Tensor& x) {
  if (fused::is_used_on(x.device().type())) return torch::nn::Conv2dImpl::forward(x);
  const bool has_autocast = autocast_on(torch::kCPU).enabled;
  // With AMX, bfloat16 products in tiles are faster.
  if (choice == ConvolutionChoice::kAuto && !(has_autocast && kernels::has_amx())) {
    const kernels::WinogradForm* form = kernels::best_winograd_form(
        has_autocast ? kernels::ImageNumbers::kBfloat16 : kernels::ImageNumbers::kFp32);
    if (form && fits_winograd(*this, x, *form)) return convolve_by_winograd(*this, x, *form);
  }
  if (has_autocast && !kernels::has_fast_bf16()) return forward_rounded(x);
  if (kernels::has_amx() && fits_tiles(*this, x)) return convolve_with_tiles(*this, x);
  return torch::nn::Conv2dImpl::forward(x);
}

torch::Tensor Conv2dImpl::forward_rounded(const torch::Tensor& x) {
  const AutocastScope without_autocast(Precision::kFp32);
  const torch::Tensor no_bias;
  return torch::conv2d(rounded(x), rounded(weight), bias.defined() ? rounded(bias) : no_bias,
                       options.stride(), padding_of(*this), options.dilation(), options.groups())
      .to(torch::kBFloat16);
}

}  // namespace tandem::model
