#include "batch_statistics.hpp"
#include "kernel_calls.hpp"
#include "layers.hpp"
#include "tandem/kernels/elementwise.hpp"

namespace tandem::model {
namespace {

struct MaxPool : public torch::autograd::Function<MaxPool> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x) {
    const ImageSizes sizes(x);
    torch::Tensor out = torch::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2},
                                     x.options(), at::MemoryFormat::ChannelsLast);
    const torch::Tensor argmax = torch::empty(out.numel(), torch::kUInt8);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t to = image * sizes.pooled_pixels() * sizes.channels;
      kernels::max_pool(bits_of(x) + image * sizes.pixels() * sizes.channels, sizes.height,
                        sizes.width, sizes.channels, bits_of(out) + to,
                        argmax.data_ptr<std::uint8_t>() + to);
    });
    context->save_for_backward({argmax});
    context->saved_data["shape"] = x.sizes();
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor argmax = context->get_saved_variables().front();
    const torch::Tensor above = bfloat16_images(gradients.front());
    const torch::Tensor of_x = torch::empty(context->saved_data["shape"].toIntVector(),
                                            above.options(), at::MemoryFormat::ChannelsLast);
    const ImageSizes sizes(of_x);
    for_each_image(sizes.images, [&](std::size_t, std::size_t image) {
      const std::size_t from = image * sizes.pooled_pixels() * sizes.channels;
      kernels::max_pool_gradient(bits_of(above) + from, argmax.data_ptr<std::uint8_t>() + from,
                                 sizes.height, sizes.width, sizes.channels,
                                 bits_of(of_x) + image * sizes.pixels() * sizes.channels);
    });
    return {of_x};
  }
};

// Whether the kernels compute; libtorch computes the rest and reports errors.
bool is_ours(const torch::Tensor& x) {
  return torch::GradMode::is_enabled() && x.is_cpu() && x.scalar_type() == torch::kBFloat16 &&
         x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(2) > 1 &&
         x.size(3) > 1;
}

}  // namespace

torch::Tensor max_pool(const torch::Tensor& x) {
  return is_ours(x) ? MaxPool::apply(x) : torch::max_pool2d(x, 2);
}

}  // namespace tandem::model
