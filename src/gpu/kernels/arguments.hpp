// What the host passes to the kernels: one structure each. NVRTC compiles this file, too, and has
// no headers. Pointers are of the device.
#pragma once

namespace tandem::gpu {

using Byte = unsigned char;
using Long = long long;

constexpr int kThreads = 256;  // of a block, unless a kernel states another number

struct AugmentArguments {
  const Byte* images;  // [M, height, width, channels]
  const int* drawn;    // [N, 5]: shift_y, shift_x, flip, reflect, image
  const float* scale;
  const float* offset;
  void* out;
  Long pixels;  // N * height * width
  int height, width, channels;
  int channels_last;
};

constexpr int kMostTile = 64;                   // channels of a block
constexpr int kBeforeNorm = 1, kAfterNorm = 2;  // NormArguments::pool; 0: none
constexpr int kRelu = 1, kGelu = 2;             // NormArguments::activation; 0: none

// Images in channels-last layout. A block works on `lanes` groups of neighboring channels
// (blockIdx.y says which) and on every gridDim.x-th group of kThreads / lanes items.
struct NormArguments {
  const void* x;         // or the pooled x, in backward
  const void* gradient;  // of the result
  const void* residual;  // may be null
  void* out;             // the result; in backward the gradient of x
  void* pooled;
  void* of_residual;
  Byte* choice;
  float* factors;      // [4, channels]: mean, 1 / deviation, scale, shift; null: bias alone
  float* sums;         // [blocks, 2, channels], of each block
  float* corrections;  // [2, channels]: slope, offset
  float* of_weight;
  float* of_bias;
  const float* weight;  // may be null
  const float* bias;
  float* running_mean;  // may be null
  float* running_variance;
  unsigned* tickets;  // zeros, one for each blockIdx.y
  double momentum, epsilon;
  Long images;
  Long counted;       // values of each channel that the statistics are of
  int height, width;  // of x before pooling
  int channels;
  int lanes;
  int pool;
  int activation;
};

constexpr int kLossLanes = 32;                    // threads on a row of logits
constexpr int kLossRows = kThreads / kLossLanes;  // of a block

struct LossArguments {
  const void* logits;  // [rows, classes]
  const Long* labels;
  const float* scale;
  void* gradient;
  double* partial;    // [blocks, 2]
  double* sums;       // [2]
  unsigned* tickets;  // one zero
  Long rows;
  int classes;
  float smoothing;
};

struct GradientArguments {
  float* gradients;
  const float* loss_scale;  // may be null
  double* norm;
  float* skipped;
  float* factors;     // [2]
  double* partial;    // [blocks]
  unsigned* tickets;  // one zero
  Long size;
  double clip_norm;
};

struct StepSumsArguments {
  double* sums;  // [6]: loss, correct, counted, skipped, first skipped, bad losses
  double* last;  // [3]
  double* step;  // [2]
  const float* skipped;
  const double* number;
  const double* images;
};

constexpr int kMostCopies = 64;
struct CopyArguments {
  const float* condition;
  void* to[kMostCopies];
  const void* from[kMostCopies];
  Long bytes[kMostCopies];
};

// A row of the table of model/fused_operators.hpp.
struct MuonPiece {
  Long offset, count, rows, kind, early, keeps_norm, place, first_block;
};
constexpr int kMatrixKind = 0, kHeadKind = 1;
constexpr int kMuonBlock = 4096;

struct MuonArguments {
  float* values;
  float* velocity;
  const float* gradients;
  float* direction;
  double* squares;  // [blocks, 2]: of directions and values
  const MuonPiece* pieces;
  void* stack;  // [matrices, stack_rows, stack_columns]
  const float* skipped;
  const double* rate;
  double* steps;
  Long stack_rows, stack_columns;
  int piece_count;
  int nesterov;
  double momentum, sgd_momentum, weight_decay, head_rate, bias_rate, early_steps, peak;
};

}  // namespace tandem::gpu
