#include "tandem/train/rate_scales.hpp"

#include <utility>

#include "tandem/core/text.hpp"

namespace tandem::train {
namespace {

// Parameters that lie side by side in the arena.
struct Range {
  std::int64_t offset, count;
  double factor;
};

double factor_of(const std::string& parameter, const std::vector<RateScale>& scales) {
  double factor = 1;
  for (const RateScale& each : scales) {
    if (fits_pattern(parameter, each.pattern)) factor = each.factor;
  }
  return factor;
}

// Those whose factor is not 1.
std::vector<Range> ranges_of(const ParameterArena& arena, const std::vector<RateScale>& scales) {
  std::vector<Range> ranges;
  const auto& slots = arena.slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const double factor = factor_of(slots[i].name, scales);
    if (factor == 1) continue;
    const auto offset = static_cast<std::int64_t>(slots[i].offset);
    const std::int64_t end = i + 1 < slots.size() ? static_cast<std::int64_t>(slots[i + 1].offset)
                                                  : arena.flat_values().numel();
    if (!ranges.empty() && ranges.back().factor == factor &&
        ranges.back().offset + ranges.back().count == offset) {
      ranges.back().count = end - ranges.back().offset;
    } else {
      ranges.push_back({offset, end - offset, factor});
    }
  }
  return ranges;
}

class ScaledRates final : public Optimizer {
 public:
  ScaledRates(std::unique_ptr<Optimizer> inner, std::vector<Range> ranges)
      : inner_(std::move(inner)), ranges_(std::move(ranges)), before_(ranges_.size()) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) override {
    keep(values);
    inner_->step(values, gradients, learning_rate, skipped);
    scale(values);
  }
  void step_at(const torch::Tensor& values, const torch::Tensor& gradients,
               const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    keep(values);
    inner_->step_at(values, gradients, learning_rate, skipped);
    scale(values);
  }
  std::vector<StateArray> state() override { return inner_->state(); }
  std::uint64_t steps() const override { return inner_->steps(); }
  void set_steps(std::uint64_t steps) override { inner_->set_steps(steps); }

 private:
  void keep(const torch::Tensor& values) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const torch::Tensor part = values.narrow(0, ranges_[i].offset, ranges_[i].count);
      if (!before_[i].defined()) before_[i] = torch::empty_like(part);
      before_[i].copy_(part);
    }
  }

  // By operations of one rounding each, so that ranks on different processors stay equal.
  void scale(const torch::Tensor& values) const {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      torch::Tensor part = values.narrow(0, ranges_[i].offset, ranges_[i].count);
      part.sub_(before_[i]).mul_(ranges_[i].factor).add_(before_[i]);
    }
  }

  const std::unique_ptr<Optimizer> inner_;
  const std::vector<Range> ranges_;
  std::vector<torch::Tensor> before_;  // values of the ranges before the step
};

}  // namespace

std::unique_ptr<Optimizer> with_rate_scales(std::unique_ptr<Optimizer> optimizer,
                                            const ParameterArena& arena,
                                            const std::vector<RateScale>& scales) {
  std::vector<Range> ranges = ranges_of(arena, scales);
  if (ranges.empty()) return optimizer;
  return std::make_unique<ScaledRates>(std::move(optimizer), std::move(ranges));
}

}  // namespace tandem::train
