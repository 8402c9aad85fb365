#include <gtest/gtest.h>

#include "model/layers.hpp"

namespace tandem::model {
namespace {

struct PooledBoth {
  torch::Tensor out, gradient;
};

template <class Function>
PooledBoth run_max_pool(const Function& function, const torch::Tensor& values,
                        bool planar_gradient) {
  const torch::Tensor x = values.detach().clone().requires_grad_();
  const torch::Tensor out = function(x);
  torch::manual_seed(4);
  const torch::Tensor above = torch::randn(out.sizes()).to(torch::kBFloat16);
  out.backward(planar_gradient ? above : above.contiguous(at::MemoryFormat::ChannelsLast));
  return {out.detach(), x.grad()};
}

torch::Tensor libtorchs_max_pool(const torch::Tensor& x) { return torch::max_pool2d(x, 2); }

TEST(MaxPool, IsLibtorchsBitForBit) {
  for (const auto& shape : {std::vector<std::int64_t>{11, 5, 6, 8}, {3, 40, 7, 9}, {1, 1, 2, 3}}) {
    torch::manual_seed(2);
    const torch::Tensor x = (torch::randn(shape) * 2)
                                .to(torch::kBFloat16)  // of which some are equal
                                .contiguous(at::MemoryFormat::ChannelsLast);
    for (const bool planar_gradient : {true, false}) {
      const PooledBoth found = run_max_pool(max_pool, x, planar_gradient);
      const PooledBoth expected = run_max_pool(libtorchs_max_pool, x, planar_gradient);
      EXPECT_TRUE(torch::equal(found.out, expected.out));
      EXPECT_TRUE(torch::equal(found.gradient, expected.gradient));
      EXPECT_TRUE(found.out.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

TEST(MaxPool, LeavesTheRestToLibtorch) {
  const torch::Tensor wide = torch::randn({2, 3, 4, 4});
  EXPECT_TRUE(torch::equal(max_pool(wide), libtorchs_max_pool(wide)));
  const torch::Tensor planar = wide.to(torch::kBFloat16);
  EXPECT_TRUE(torch::equal(max_pool(planar), libtorchs_max_pool(planar)));
  const torch::Tensor line = planar.narrow(2, 0, 1).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THROW(max_pool(line), c10::Error) << "nothing is left of a line";
}

}  // namespace
}  // namespace tandem::model
