#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "support/emulated_gpu.hpp"
#include "tandem/model/fused_operators.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::model::fused {
namespace {

using torch::Tensor;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using gpu::placed;
Tensor doubles(std::vector<double> values) {
  return placed(torch::tensor(values, torch::kFloat64));
}

void compare_loss(std::int64_t rows, std::int64_t classes, torch::ScalarType type,
                  double smoothing) {
  torch::manual_seed(1);
  const Tensor logits = placed((torch::randn({rows, classes}) * 3).to(type));
  const Tensor labels = placed(torch::randint(classes, {rows}, torch::kInt64));
  const Tensor scale = placed(torch::full({1}, 0.37F));
  const Tensor sums = doubles({1.5, 2});
  const Tensor gradient = cross_entropy(logits, labels, smoothing, scale, sums);

  const Tensor leaf = logits.detach().clone().to(torch::kFloat64).requires_grad_();
  const Tensor loss = at::cross_entropy_loss(leaf, labels, {}, at::Reduction::Sum, -100, smoothing);
  (loss * scale.item<float>()).backward();
  EXPECT_NEAR(sums[0].item<double>() - 1.5, loss.item<double>(), 1e-5 * loss.item<double>());
  EXPECT_EQ(sums[1].item<double>() - 2,
            static_cast<double>((logits.argmax(1) == labels).sum().item<std::int64_t>()));
  const double rounding = type == torch::kFloat32 ? 1e-5 : type == torch::kBFloat16 ? 5e-3 : 1e-3;
  EXPECT_TRUE(gradient.to(torch::kFloat64).allclose(leaf.grad(), rounding, rounding * 0.1));

  const Tensor again = doubles({1.5, 2});
  gpu::emulated::run_backwards(true);
  EXPECT_TRUE(gradient.equal(cross_entropy(logits, labels, smoothing, scale, again)));
  gpu::emulated::run_backwards(false);
  EXPECT_TRUE(again.equal(sums)) << "depends on the order";
}

TEST(CrossEntropy, EqualsLibtorchs) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
    for (const double smoothing : {0.0, 0.2}) {
      compare_loss(1, 2, type, smoothing);
      compare_loss(7, 10, type, smoothing);
      compare_loss(33, 100, type, smoothing);
      compare_loss(300, 10, type, smoothing);
    }
  }
}

TEST(CrossEntropy, CountsTheFirstMaximumAndNan) {
  const Tensor logits = placed(torch::tensor({{0.F, 2.F, 2.F}, {0.F, 2.F, 2.F}, {0.F, NAN, 5.F}}));
  const Tensor sums = doubles({0, 0});
  cross_entropy(logits, placed(torch::tensor({1, 2, 1}, torch::kInt64)), 0,
                placed(torch::ones({1})), sums);
  EXPECT_EQ(sums[1].item<double>(), 2);
  EXPECT_TRUE(std::isnan(sums[0].item<double>()));
}

struct Judged {
  Tensor gradients, norm = doubles({7}), skipped = placed(torch::full({1}, 7.F));
};
Judged judge(const Tensor& gradients, const Tensor& loss_scale, double clip_norm) {
  Judged judged{gradients.clone()};
  unscale_and_clip(judged.gradients, loss_scale, clip_norm, judged.norm, judged.skipped);
  return judged;
}

TEST(JudgeGradients, EqualsSeparateOperators) {
  torch::manual_seed(1);
  for (const std::int64_t size : {1, 255, 100003}) {
    const Tensor gradients = placed(torch::randn({size}) * 3);
    for (const Tensor& scale : {Tensor(), placed(torch::full({1}, 8.F))}) {
      for (const double clip_norm : {0.0, 0.5, 1e9}) {
        Tensor expected = scale.defined() ? gradients * (1 / scale) : gradients;
        const Tensor norm = expected.norm(2, torch::kFloat64);
        if (clip_norm > 0) {
          expected = expected * (clip_norm / (norm + 1e-6)).clamp_max(1).to(torch::kFloat32);
        }
        const Judged found = judge(gradients, scale, clip_norm);
        EXPECT_NEAR(found.norm.item<double>(), norm.item<double>(), 1e-9 * norm.item<double>());
        EXPECT_TRUE(found.gradients.allclose(expected, 1e-6, 0)) << size << " " << clip_norm;
        EXPECT_EQ(found.skipped.item<float>(), 0);
      }
    }
  }
}

TEST(JudgeGradients, SkipsWhatIsNotFinite) {
  for (const float bad : {NAN, kInfinity, -kInfinity}) {
    Tensor gradients = placed(torch::ones({5000}));
    gradients[4999] = bad;
    EXPECT_EQ(judge(gradients, {}, 0).skipped.item<float>(), 1);
  }
  EXPECT_EQ(judge(placed(torch::full({9}, 3e38F)), {}, 0).skipped.item<float>(), 0);
}

TEST(AddUp, CountsStepsAndLeavesSkippedOnesOut) {
  const StepSums sums{doubles({0, 0, 0, 0, 0, 0}), doubles({0, 0, 0}), doubles({0, 0})};
  const auto add = [&](double loss, double correct, float skipped, double step) {
    sums.step.copy_(doubles({loss, correct}));
    add_up(sums, placed(torch::full({1}, skipped)), doubles({step}), doubles({4}));
    EXPECT_TRUE(sums.step.equal(doubles({0, 0})));
  };
  add(2.5, 1, 0, 10);
  add(NAN, 2, 1, 11);
  add(8, 3, 1, 12);
  add(0.5, 4, 0, 13);
  // Loss, correct, counted, skipped, first skipped, bad losses.
  EXPECT_TRUE(sums.sums.equal(doubles({3, 10, 8, 2, 11, 1}))) << sums.sums;
  EXPECT_TRUE(sums.last.equal(doubles({0.5, 4, 4}))) << sums.last;
}

TEST(RestoreWhere, CopiesAllOrNothing) {
  std::vector<Tensor> to, from, before;
  for (std::int64_t i = 0; i < 70; ++i) {
    const auto type = i % 2 == 0 ? torch::kFloat32 : torch::kInt64;
    to.push_back(placed(torch::full({1 + i * 7 % 300}, i, torch::TensorOptions(type))));
    from.push_back(torch::full_like(to.back(), -1));
    before.push_back(to.back().clone());
  }
  to.push_back(placed(torch::zeros({})));
  from.push_back(placed(torch::ones({})));
  before.push_back(placed(torch::zeros({})));
  restore_where(to, from, placed(torch::zeros({1})));
  for (std::size_t i = 0; i < to.size(); ++i) EXPECT_TRUE(to[i].equal(before[i])) << i;
  restore_where(to, from, placed(torch::ones({1})));
  for (std::size_t i = 0; i < to.size(); ++i) EXPECT_TRUE(to[i].equal(from[i])) << i;
}

}  // namespace
}  // namespace tandem::model::fused
