#include "fused_muon.hpp"

#include "device_optimizer.hpp"
#include "muon_banks.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::train {
namespace {

namespace fused = model::fused;

// The operator muon_end() counts the steps.
class FusedMuon final : public DeviceOptimizer {
 public:
  FusedMuon(const OptimizerOptions& options, const ParameterArena& arena, double peak,
            const std::vector<MuonPiece>& pieces)
      : DeviceOptimizer(options, torch::TensorOptions(torch::kFloat64).device(arena.device()),
                        {{"velocity", torch::zeros_like(arena.flat_values())}}),
        numbers_{options.momentum,
                 options.nesterov,
                 options.sgd_momentum,
                 options.weight_decay,
                 options.head_rate,
                 options.bias_rate,
                 static_cast<double>(options.early_steps),
                 peak} {
    const fused::MuonPlan plan = fused::plan_muon(pieces);
    const torch::Device device = arena.device();
    const auto doubles = torch::TensorOptions(torch::kFloat64).device(device);
    // As published: on a GPU products are in bfloat16, which is several times as fast only there.
    const torch::Dtype type = device.is_cpu() ? torch::kFloat32 : torch::kBFloat16;
    arrays_.velocity = array(0);
    arrays_.direction = torch::zeros_like(arena.flat_values());
    arrays_.squares = torch::zeros({plan.blocks, 2}, doubles);
    arrays_.table = plan.table.to(device);
    arrays_.stack =
        torch::zeros({plan.stack[0], plan.stack[1], plan.stack[2]}, doubles.dtype(type));
    arrays_.steps = steps_;
    none_skipped_ = torch::zeros({}, doubles.dtype(torch::kFloat32));
  }

  void step_at(const torch::Tensor& values, const torch::Tensor& gradients,
               const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    const torch::NoGradGuard no_grad;
    arrays_.values = values;
    arrays_.gradients = gradients;
    arrays_.rate = learning_rate;
    arrays_.skipped = skipped.defined() ? skipped : none_skipped_;
    fused::muon_begin(arrays_, numbers_);
    fused::muon_stack(arrays_);
    fused::muon_end(arrays_, iterated(arrays_.stack));
  }

 private:
  const fused::MuonNumbers numbers_;
  fused::MuonArrays arrays_;
  torch::Tensor none_skipped_;
};

}  // namespace

std::unique_ptr<Optimizer> make_fused_muon(const OptimizerOptions& options,
                                           const ParameterArena& arena, double peak,
                                           const std::vector<MuonPiece>& pieces) {
  return std::make_unique<FusedMuon>(options, arena, peak, pieces);
}

}  // namespace tandem::train
