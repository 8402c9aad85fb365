// The optimizer of a run and its settings, with PyTorch's names and defaults where it has them.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::train {

// A factor of the learning rate of the parameters whose names fit a shell pattern.
struct RateScale {
  std::string pattern;
  double factor = 1;
};

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.9;  // sgd, muon, lars
  bool nesterov = false;  // sgd, muon, lars
  // sgd: added to the gradient; lars, lamb: likewise, or to the direction, of parameters of more
  // than one dimension; adamw: decoupled; muon: what a step at the peak rate takes off each
  // weight that is not a matrix's.
  double weight_decay = 0;
  double beta1 = 0.9;                // adamw, lamb
  double beta2 = 0.999;              // adamw, lamb
  double epsilon = 1e-8;             // adamw, lamb
  double trust_coefficient = 0.001;  // lars
  // muon: sgd updates the last layer (head) and the biases and norms, at these peak rates and with
  // this Nesterov momentum.
  double head_rate = 0.67;
  double bias_rate = 0.053;
  double sgd_momentum = 0.85;
  std::uint64_t early_steps = 0;   // 0: all
  bool bfloat16_products = false;  // muon on CPUs: factors of its matrix products are bfloat16
};

}  // namespace tandem::train
