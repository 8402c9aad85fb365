// Operators of libtorch that do the work of several in one pass over memory, for GPUs. Their
// schemas are part of the engine. Their CUDA kernels are in libtandem_gpu.so, which open_cuda()
// opens.
//
// None is differentiable: call them inside an autograd function, or without gradients. Activations
// are bfloat16, half or float. Arithmetic is fp32; the sums of blocks add up in double. Results are
// the same bits in each run. A scalar is a tensor of one element on the same device, so that a CUDA
// graph of a step can be replayed. Throws c10::Error for tensors that an operator does not take.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/model/libtorch.hpp"

namespace tandem::model::fused {

// Whether the operators have kernels for this kind of device.
bool available(torch::DeviceType device);

// Opens libtandem_gpu.so, which compiles its kernels for GPU `index` on first use; that takes
// seconds. open_cuda() calls it. Without the library libtorch's own operators do the work.
void open_library(int index);
// Why open_library() brought no kernels; empty if it did.
const std::string& why_unavailable();

// The images of a batch, augmented and normalized.
struct Augment {
  torch::Tensor images;         // uint8 [M, H, W, C]
  torch::Tensor drawn;          // int32 [N, 5]: shift_y, shift_x, flip, reflect, image
  torch::Tensor scale, offset;  // float [C]: result = pixel * scale - offset
};
torch::Tensor augment(const Augment& from, torch::Dtype type, bool channels_last);

enum class Pool : std::int64_t { kNone, kBeforeNorm, kAfterNorm };  // 2x2, maximum
enum class Activation : std::int64_t { kNone, kRelu, kGelu };
struct NormForm {
  Pool pool = Pool::kNone;
  Activation activation = Activation::kNone;
};

// activation(norm(x) + residual) of images in channels-last layout, by the statistics of the batch.
// The values of a pixel must fill pieces of 16 bytes. kBeforeNorm goes with kGelu, kAfterNorm with
// kRelu.
struct NormInput {
  torch::Tensor x;             // [N, C, H, W]
  torch::Tensor weight, bias;  // float [C]; weight: undefined is 1
  torch::Tensor residual;      // of the result's shape, or undefined; without pooling
  torch::Tensor running_mean, running_variance;  // float [C], changed; or undefined
  double momentum = 0, epsilon = 0;
};
struct NormOutput {
  torch::Tensor y;
  torch::Tensor pooled;   // kBeforeNorm: the pooled x, for backward; otherwise empty
  torch::Tensor choice;   // uint8, 2 * row + column of each maximum; empty without pooling
  torch::Tensor factors;  // float [4, C]: mean, 1 / deviation, scale, shift
};
NormOutput norm_forward(const NormInput& input, NormForm form);

struct NormSaved {
  torch::Tensor input;  // the pooled x with kBeforeNorm, otherwise x
  torch::Tensor choice, factors;
  torch::Tensor residual;              // may be undefined
  std::int64_t height = 0, width = 0;  // of x
};
struct NormGradients {
  torch::Tensor of_x, of_weight, of_bias;
  torch::Tensor of_residual;  // empty without one
};
NormGradients norm_backward(const torch::Tensor& gradient, const NormSaved& saved, NormForm form);

// activation(x + bias) of images in channels-last layout. bias: float [C].
torch::Tensor bias_activation(const torch::Tensor& x, const torch::Tensor& bias,
                              Activation activation);
// The gradient of the bias, from that of the result.
torch::Tensor bias_gradient(const torch::Tensor& gradient, const torch::Tensor& x,
                            const torch::Tensor& bias, Activation activation);

// Adds the summed loss and the number of correct answers to `sums`, double [2]. Returns the loss's
// gradient with respect to the logits, times the scalar `scale` (float). labels: int64 [N].
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                            double smoothing, const torch::Tensor& scale,
                            const torch::Tensor& sums);

// Divides the flat gradients by the scalar `loss_scale` (float, or undefined), sets the scalars
// `norm` (double) and `skipped` (float: 1 if the norm is not finite), and clips if clip_norm > 0.
void unscale_and_clip(const torch::Tensor& gradients, const torch::Tensor& loss_scale,
                      double clip_norm, const torch::Tensor& norm, const torch::Tensor& skipped);

// The sums of a step, into those since the last report; see device_step_backend.cpp.
struct StepSums {
  torch::Tensor sums;  // double [6]: loss, correct, counted, skipped, first skipped, bad losses
  torch::Tensor last;  // double [3]: loss, correct answers and images of the last step
  torch::Tensor step;  // double [2], of cross_entropy; set to 0
};
void add_up(const StepSums& sums, const torch::Tensor& skipped, const torch::Tensor& step,
            const torch::Tensor& images);

// to[i] = from[i] for all if the scalar `condition` (float) is not 0.
void restore_where(const std::vector<torch::Tensor>& to, const std::vector<torch::Tensor>& from,
                   const torch::Tensor& condition);

// Muon's update around the Newton-Schulz iteration, for all parameters at once.
//
// A parameter: a matrix, the last layer's matrix (head), or a bias or norm (short).
struct MuonPiece {
  enum class Kind : std::int64_t { kMatrix, kHead, kShort };
  Kind kind = Kind::kShort;
  bool early = false;       // its rate falls to 0 over the early steps
  bool keeps_norm = false;  // a matrix whose norm is kept
  std::int64_t rows = 1;
  std::int64_t offset = 0, count = 0;  // in the flat arrays

  std::int64_t columns() const { return count / rows; }
  torch::Tensor of(const torch::Tensor& flat) const { return flat.narrow(0, offset, count); }
};
// Columns of the table, one row for each piece.
enum MuonColumn {
  kOffset,
  kCount,
  kRows,
  kKind,
  kEarly,
  kKeepsNorm,
  kPlace,
  kFirstBlock,
  kMuonColumns
};
constexpr std::int64_t kMuonBlock = 4096;  // elements of one piece that a block works on
struct MuonPlan {
  torch::Tensor table;                  // int64 [pieces, kMuonColumns], on the host
  std::int64_t blocks = 0;              // of `squares`
  std::array<std::int64_t, 3> stack{};  // all matrices, as large as the largest, wide side last
};
MuonPlan plan_muon(const std::vector<MuonPiece>& pieces);

struct MuonArrays {
  torch::Tensor values, velocity, gradients;  // float, flat
  torch::Tensor direction;                    // float, flat; may be the gradients
  torch::Tensor squares;                      // double [blocks, 2]
  torch::Tensor table;                        // of the plan, on the device
  torch::Tensor stack;                        // of the plan's shape, zeros at first
  torch::Tensor skipped, rate, steps;         // scalars: float, double, double
};
struct MuonNumbers {
  double momentum = 0;
  bool nesterov = false;
  double sgd_momentum = 0, weight_decay = 0, head_rate = 0, bias_rate = 0, early_steps = 0;
  double peak = 0;
};
// Updates all but the matrices; of these, velocity and direction.
void muon_begin(const MuonArrays& arrays, const MuonNumbers& numbers);
// The directions, each of norm 1, to the stack.
void muon_stack(const MuonArrays& arrays);
// Updates the matrices by `updates`, of the stack's shape, and counts the step.
void muon_end(const MuonArrays& arrays, const torch::Tensor& updates);

}  // namespace tandem::model::fused
