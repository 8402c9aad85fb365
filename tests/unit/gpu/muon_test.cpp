// Muon's fused update beside train::make_muon, parameter by parameter.
#include "tandem/train/muon.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/emulated_gpu.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::train {
namespace {

namespace fused = model::fused;
using gpu::placed;

constexpr double kPeak = 0.24;

// Wide and tall matrices, some of several blocks, filters of zeros, a head, biases.
struct Network : torch::nn::Module {
  Network() {
    torch::manual_seed(1);
    register_parameter("early", torch::randn({5}));
    register_parameter("wide", torch::randn({32, 35, 3, 3}));
    register_parameter("bias", torch::randn({33}));
    register_parameter("tall", torch::randn({70, 1, 3, 3}));
    register_parameter("zeros", torch::zeros({6, 4, 3, 3}));
    register_parameter("linear", torch::randn({20, 100}));
    register_parameter("head", torch::randn({10, 64}));
  }
};

OptimizerOptions options_of(bool nesterov) {
  OptimizerOptions options;
  options.name = "muon";
  options.momentum = 0.6;
  options.nesterov = nesterov;
  options.weight_decay = 2e-3;
  options.early_steps = 3;
  return options;
}

fused::MuonPlan plan_of(const ParameterArena& arena) {
  std::vector<fused::MuonPiece> pieces;
  for (const ParameterArena::Slot& slot : arena.slots()) {
    fused::MuonPiece piece;
    piece.offset = static_cast<std::int64_t>(slot.offset);
    piece.count = static_cast<std::int64_t>(slot.count);
    piece.early = slot.name == "early";
    if (slot.parameter.dim() > 1) {
      piece.kind =
          slot.name == "head" ? fused::MuonPiece::Kind::kHead : fused::MuonPiece::Kind::kMatrix;
      piece.keeps_norm = slot.parameter.dim() == 4;
      piece.rows = slot.parameter.size(0);
    }
    pieces.push_back(piece);
  }
  return fused::plan_muon(pieces);
}

torch::Tensor iterated(torch::Tensor x) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  for (int i = 0; i < 3; ++i) {
    const torch::Tensor squares = x.bmm(x.transpose(1, 2));
    const torch::Tensor factor = torch::baddbmm(squares, squares, squares, kB, kC);
    x = torch::baddbmm(x, factor, x, kA, 1);
  }
  return x;
}

torch::Tensor scalar(double value, torch::ScalarType type) {
  return placed(torch::full({1}, value, torch::TensorOptions(type)));
}

void compare(bool nesterov, bool channels_last) {
  Network one, other;
  ParameterArena expected(one, channels_last);
  ParameterArena found(other, channels_last, gpu::test_device());
  const OptimizerOptions options = options_of(nesterov);
  const auto muon = make_muon(options, expected, kPeak, {"early"});
  const fused::MuonPlan plan = plan_of(found);
  fused::MuonArrays arrays;
  arrays.values = found.flat_values();
  arrays.velocity = torch::zeros_like(arrays.values);
  arrays.gradients = arrays.direction = found.flat_gradients();
  arrays.squares = torch::zeros({plan.blocks, 2}, arrays.values.options().dtype(torch::kFloat64));
  arrays.table = placed(plan.table);
  arrays.stack = placed(torch::zeros(plan.stack));
  arrays.steps = scalar(0, torch::kFloat64);
  const fused::MuonNumbers numbers{options.momentum,
                                   nesterov,
                                   options.sgd_momentum,
                                   options.weight_decay,
                                   options.head_rate,
                                   options.bias_rate,
                                   static_cast<double>(options.early_steps),
                                   kPeak};
  for (int step = 0; step < 6; ++step) {
    const double rate = kPeak * (1 - 0.15 * step);
    const bool skips = step == 2;
    const torch::Tensor gradients = torch::randn_like(expected.flat_values()) * 0.1;
    for (ParameterArena* arena : {&expected, &found}) arena->flat_gradients().copy_(gradients);
    if (!skips) muon->step(expected.flat_values(), expected.flat_gradients(), rate);
    arrays.skipped = scalar(skips ? 1 : 0, torch::kFloat32);
    arrays.rate = scalar(rate, torch::kFloat64);
    gpu::emulated::run_backwards(step % 2 == 1);
    fused::muon_begin(arrays, numbers);
    fused::muon_stack(arrays);
    fused::muon_end(arrays, iterated(arrays.stack));
    gpu::emulated::run_backwards(false);
    for (std::size_t i = 0; i < expected.slots().size(); ++i) {
      const ParameterArena::Slot &a = expected.slots()[i], &b = found.slots()[i];
      EXPECT_TRUE(b.parameter.cpu().allclose(a.parameter, 1e-3, 1e-3))
          << a.name << ", step " << step;
    }
    EXPECT_TRUE(arrays.velocity.cpu().allclose(muon->state()[0].values, 1e-5, 1e-6))
        << "step " << step;
  }
  EXPECT_EQ(arrays.steps.item<double>(), 5);
}

TEST(FusedMuon, EqualsTheUpdateOfManyOperators) {
  compare(true, true);
  compare(false, false);
}

TEST(FusedMuon, KeepsThePaddingOfTheStackZero) {
  const fused::MuonPlan plan =
      fused::plan_muon({{fused::MuonPiece::Kind::kMatrix, false, false, 4, 0, 12},
                        {fused::MuonPiece::Kind::kMatrix, false, false, 2, 16, 10}});
  EXPECT_EQ(plan.stack, (std::array<std::int64_t, 3>{2, 3, 5}));
  fused::MuonArrays arrays;
  arrays.direction = placed(torch::ones({32}));
  arrays.squares = placed(torch::ones({plan.blocks, 2}, torch::kFloat64));
  arrays.table = placed(plan.table);
  arrays.stack = placed(torch::zeros(plan.stack));
  fused::muon_stack(arrays);
  EXPECT_TRUE(arrays.stack[0].slice(1, 4, 5).eq(0).all().item<bool>());
  EXPECT_TRUE(arrays.stack[0].slice(1, 0, 4).gt(0.9).all().item<bool>());
  EXPECT_TRUE(arrays.stack[1].slice(0, 2, 3).eq(0).all().item<bool>());
}

}  // namespace
}  // namespace tandem::train
