// Muon for filters and matrices, SGD for all other parameters: the optimizer of the fastest known
// recipe for CIFAR-10. Keeps one float of velocity per parameter. One thread at a time. Throws what
// libtorch throws.
//
// Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024), in the form of
// airbench94_muon.py of KellerJordan/cifar10-airbench: the update is orthogonalized, and each
// filter of a convolution is kept at a root mean square of 1.
//
// Matrix products are libtorch's, which may round differently on other kinds of processors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/model/precision.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

// The nearest orthogonal matrix, roughly: three steps of Newton and Schulz's iteration in the
// quintic form of Muon, after which singular values lie between 0.7 and 1.2 or so. `matrix` and the
// result: float [rows, columns]. `products`: the type of factors and products, kFloat32 or, as
// published, kBFloat16.
torch::Tensor orthogonalized(const torch::Tensor& matrix, torch::Dtype products = torch::kFloat32);

// Whether a new run should multiply in bfloat16 on this processor: with muon, --precision bf16 and
// AMX. The products then take a fifth of the time.
bool prefers_bfloat16_products(const OptimizerOptions& options, model::Precision precision);

// The parameters of more than one dimension are Muon's, as matrices of shape[0] rows, but for the
// last of them in the network, the head. `peak`: the learning rate of its steps at their peak, to
// which those of the others keep their ratio. `early`: names of parameters that are trained in the
// first options.early_steps only, at a rate that falls to 0.
std::unique_ptr<Optimizer> make_muon(const OptimizerOptions& options, const ParameterArena& arena,
                                     double peak, const std::vector<std::string>& early);
// The same on the arena's device, within rounding and with the same state: all parameters at a time
// and matrices side by side. It reads nothing back. On a GPU it multiplies matrices in bfloat16.
// Throws UnavailableError for libtorch before 2.4.
std::unique_ptr<Optimizer> make_device_muon(const OptimizerOptions& options,
                                            const ParameterArena& arena, double peak,
                                            const std::vector<std::string>& early);

}  // namespace tandem::train
