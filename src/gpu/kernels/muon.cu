// Muon's update of all parameters around the Newton-Schulz iteration; see
// src/train/optimizers/muon.cpp.
#include "common.cuh"

namespace tandem::gpu {

constexpr double kSmallestNorm = 1e-7;

// The elements that this block works on.
struct MuonShare {
  __device__ explicit MuonShare(const MuonArguments& a) {
    int low = 0, high = a.piece_count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (a.pieces[middle].first_block <= blockIdx.x) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    piece = a.pieces[low];
    first = (blockIdx.x - piece.first_block) * kMuonBlock;
    end = first + kMuonBlock < piece.count ? first + kMuonBlock : piece.count;
  }
  MuonPiece piece;
  Long first, end;  // within the piece
};

// The sum of squares of a piece: 0 of its direction, 1 of its values.
__device__ inline double squares_of(const MuonArguments& a, const MuonPiece& piece, int which) {
  __shared__ double values[kThreads];
  const Long blocks = (piece.count + kMuonBlock - 1) / kMuonBlock;
  double sum = 0;
  for (Long block = threadIdx.x; block < blocks; block += blockDim.x) {
    sum += a.squares[2 * (piece.first_block + block) + which];
  }
  values[threadIdx.x] = sum;
  add_in_block(values, 1);
  sum = values[0];
  __syncthreads();
  return sum;
}

__device__ inline void sgd(const MuonArguments& a, const MuonPiece& piece, Long i) {
  const double peak = piece.kind == kHeadKind ? a.head_rate : a.bias_rate;
  double rate = peak * (*a.rate / a.peak);
  if (piece.early != 0 && a.early_steps > 0) {
    const double left = 1 - *a.steps / a.early_steps;
    rate = left > 0 ? left * peak : 0;
  }
  const float momentum = static_cast<float>(a.sgd_momentum);
  const float value = a.values[i];
  float change = a.gradients[i];
  if (peak > 0) change += value * static_cast<float>(a.weight_decay / peak);
  const float velocity = a.velocity[i] * momentum + change;
  const float direction = change + velocity * momentum;
  if (*a.skipped == 1) return;
  a.velocity[i] = velocity;
  a.values[i] = value - direction * static_cast<float>(rate);
}

__device__ void muon_begin(const MuonArguments& a) {
  __shared__ double of_directions[kThreads], of_values[kThreads];
  const MuonShare share(a);
  const float momentum = static_cast<float>(a.momentum);
  double directions = 0, values = 0;
  for (Long j = share.first + threadIdx.x; j < share.end; j += blockDim.x) {
    const Long i = share.piece.offset + j;
    if (share.piece.kind != kMatrixKind) {
      sgd(a, share.piece, i);
      continue;
    }
    const float gradient = a.gradients[i], value = a.values[i];
    const float velocity = a.velocity[i] * momentum + gradient;
    const float direction = a.nesterov != 0 ? gradient + velocity * momentum : velocity;
    if (*a.skipped != 1) a.velocity[i] = velocity;
    a.direction[i] = direction;
    directions += static_cast<double>(direction) * direction;
    values += static_cast<double>(value) * value;
  }
  of_directions[threadIdx.x] = directions;
  of_values[threadIdx.x] = values;
  add_in_block(of_directions, 1);
  add_in_block(of_values, 1);
  if (threadIdx.x == 0) {
    a.squares[2 * blockIdx.x] = of_directions[0];
    a.squares[2 * blockIdx.x + 1] = of_values[0];
  }
}
TANDEM_KERNEL(muon_begin_all, MuonArguments, muon_begin(arguments))

// Where element j of a matrix lies in the stack, whose matrices are wide.
__device__ inline Long place_in_stack(const MuonArguments& a, const MuonPiece& piece, Long j) {
  const Long columns = piece.count / piece.rows;
  const Long row = j / columns, column = j % columns;
  const Long at = piece.rows > columns ? column * a.stack_columns + row
                                       : row * a.stack_columns + column;
  return piece.place * a.stack_rows * a.stack_columns + at;
}

template <class T>
__device__ void muon_stack(const MuonArguments& a) {
  const MuonShare share(a);
  if (share.piece.kind != kMatrixKind) return;
  const float norm =
      static_cast<float>(sqrt(squares_of(a, share.piece, 0)) + kSmallestNorm);
  T* stack = static_cast<T*>(a.stack);
  for (Long j = share.first + threadIdx.x; j < share.end; j += blockDim.x) {
    stack[place_in_stack(a, share.piece, j)] =
        narrow<T>(a.direction[share.piece.offset + j] / norm);
  }
}
TANDEM_KERNELS(muon_stack, MuonArguments)

template <class T>
__device__ void muon_end(const MuonArguments& a) {
  const float skipped = *a.skipped;
  if (blockIdx.x == 0 && threadIdx.x == 0) *a.steps += 1 - skipped;
  const MuonShare share(a);
  if (share.piece.kind != kMatrixKind || skipped == 1) return;
  float keep = 1;
  if (share.piece.keeps_norm != 0) {
    const double rows = static_cast<double>(share.piece.rows);
    const double norm = sqrt(squares_of(a, share.piece, 1));
    keep = static_cast<float>(sqrt(rows) / (norm < kSmallestNorm ? kSmallestNorm : norm));
  }
  const float rate = static_cast<float>(*a.rate);
  const T* updates = static_cast<const T*>(a.stack);
  for (Long j = share.first + threadIdx.x; j < share.end; j += blockDim.x) {
    const Long i = share.piece.offset + j;
    const float update = widen(updates[place_in_stack(a, share.piece, j)]);
    a.values[i] = a.values[i] * keep - update * rate;
  }
}
TANDEM_KERNELS(muon_end, MuonArguments)

}  // namespace tandem::gpu
