// Loss, gradients and sums of a step.
#include "common.cuh"

namespace tandem::gpu {

// Adds up, or finds the best, over the lanes of each row; the result is in all of them.
__device__ inline float add_lanes(float value) {
  __shared__ float values[kThreads];
  const unsigned lane = threadIdx.x % kLossLanes;
  values[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kLossLanes / 2; half > 0; half /= 2) {
    if (lane < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  const float all = values[threadIdx.x - lane];
  __syncthreads();
  return all;
}

struct Best {
  float value;
  int place;  // -1: none yet
};
// A NaN is the largest; of equals the first.
__device__ inline Best better_of(Best one, Best other) {
  if (other.place < 0) return one;
  if (one.place < 0) return other;
  const bool is_nan = one.value != one.value, other_is_nan = other.value != other.value;
  if (is_nan != other_is_nan) return is_nan ? one : other;
  if (!is_nan && one.value != other.value) return one.value > other.value ? one : other;
  return one.place < other.place ? one : other;
}
__device__ inline Best best_of_lanes(Best best) {
  __shared__ Best values[kThreads];
  const unsigned lane = threadIdx.x % kLossLanes;
  values[threadIdx.x] = best;
  __syncthreads();
  for (unsigned half = kLossLanes / 2; half > 0; half /= 2) {
    if (lane < half) {
      values[threadIdx.x] = better_of(values[threadIdx.x], values[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const Best all = values[threadIdx.x - lane];
  __syncthreads();
  return all;
}

// The loss of a row of logits, which writes its gradient. All threads of a block call it.
template <class T>
__device__ inline float loss_of_row(const LossArguments& a, Long row, bool is_there,
                                    bool* is_correct) {
  const int lane = static_cast<int>(threadIdx.x) % kLossLanes;
  const T* logits = static_cast<const T*>(a.logits) + row * a.classes;
  const int classes = is_there ? a.classes : 0;
  Best best{0, -1};
  float sum = 0;
  for (int c = lane; c < classes; c += kLossLanes) {
    const float value = widen(logits[c]);
    best = better_of(best, {value, c});
    sum += value;
  }
  best = best_of_lanes(best);
  sum = add_lanes(sum);
  float powers = 0;
  for (int c = lane; c < classes; c += kLossLanes) powers += expf(widen(logits[c]) - best.value);
  powers = add_lanes(powers);
  if (!is_there) return 0;
  const int label = static_cast<int>(a.labels[row]);
  const float share = a.smoothing / static_cast<float>(a.classes);
  const float scale = *a.scale;
  T* gradient = static_cast<T*>(a.gradient) + row * a.classes;
  for (int c = lane; c < classes; c += kLossLanes) {
    const float target = share + (c == label ? 1.0F - a.smoothing : 0.0F);
    const float probability = expf(widen(logits[c]) - best.value) / powers;
    gradient[c] = narrow<T>((probability - target) * scale);
  }
  if (label < 0 || label >= a.classes) return __uint_as_float(0x7FC00000U);  // NaN, which is noticed
  *is_correct = best.place == label;
  const float log_of_all = best.value + logf(powers);
  const float loss = (1.0F - a.smoothing) * (log_of_all - widen(logits[label]));
  if (a.smoothing == 0) return loss;
  return loss + a.smoothing * (log_of_all - sum / static_cast<float>(a.classes));
}

// Adds up two numbers of each thread of the block.
__device__ inline void add_two(double one, double other, double* sums) {
  __shared__ double values[2][kThreads];
  values[0][threadIdx.x] = one;
  values[1][threadIdx.x] = other;
  add_in_block(values[0], 1);
  add_in_block(values[1], 1);
  sums[0] = values[0][0];
  sums[1] = values[1][0];
  __syncthreads();
}

template <class T>
__device__ void cross_entropy(const LossArguments& a) {
  const Long row = static_cast<Long>(blockIdx.x) * kLossRows + threadIdx.x / kLossLanes;
  const bool is_there = row < a.rows;
  bool is_correct = false;
  const float loss = loss_of_row<T>(a, is_there ? row : 0, is_there, &is_correct);
  const bool counts = is_there && threadIdx.x % kLossLanes == 0;
  double sums[2];
  add_two(counts ? loss : 0.0, counts && is_correct ? 1.0 : 0.0, sums);
  if (threadIdx.x == 0) {
    a.partial[2 * blockIdx.x] = sums[0];
    a.partial[2 * blockIdx.x + 1] = sums[1];
  }
  if (!is_last_block(a.tickets, gridDim.x)) return;
  double losses = 0, correct = 0;
  const volatile double* all = a.partial;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
    losses += all[2 * block];
    correct += all[2 * block + 1];
  }
  add_two(losses, correct, sums);
  if (threadIdx.x != 0) return;
  a.sums[0] += sums[0];
  a.sums[1] += sums[1];
}

TANDEM_KERNELS(cross_entropy, LossArguments)

__device__ inline double added_in_block(double value) {
  double sums[2];
  add_two(value, 0, sums);
  return sums[0];
}

__device__ inline void finish_norm(const GradientArguments& a, double squares) {
  const double norm = sqrt(squares);
  const bool is_finite = norm - norm == 0;
  double clip = a.clip_norm / (norm + 1e-6);
  if (clip > 1) clip = 1;
  *a.norm = norm;
  *a.skipped = is_finite ? 0.0F : 1.0F;
  a.factors[0] = a.loss_scale == nullptr ? 1.0F : 1.0F / *a.loss_scale;
  a.factors[1] = a.clip_norm > 0 ? static_cast<float>(clip) : 1.0F;
}

// Squares of floats cannot overflow in double, so the norm is finite where all gradients are.
__device__ void gradient_norm(const GradientArguments& a) {
  const float unscale = a.loss_scale == nullptr ? 1.0F : 1.0F / *a.loss_scale;
  double squares = 0;
  const Long step = static_cast<Long>(gridDim.x) * blockDim.x;
  for (Long i = thread_index(); i < a.size; i += step) {
    const double value = a.gradients[i] * unscale;
    squares += value * value;
  }
  squares = added_in_block(squares);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = squares;
  if (!is_last_block(a.tickets, gridDim.x)) return;
  squares = 0;
  const volatile double* all = a.partial;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) squares += all[block];
  squares = added_in_block(squares);
  if (threadIdx.x == 0) finish_norm(a, squares);
}
TANDEM_KERNEL(gradient_norm_all, GradientArguments, gradient_norm(arguments))

__device__ void scale_gradients(const GradientArguments& a) {
  const float unscale = a.factors[0], clip = a.factors[1];
  const Long step = static_cast<Long>(gridDim.x) * blockDim.x;
  for (Long i = thread_index(); i < a.size; i += step) {
    a.gradients[i] = a.gradients[i] * unscale * clip;
  }
}
TANDEM_KERNEL(scale_gradients_all, GradientArguments, scale_gradients(arguments))

// DeviceStepBackend::add_up. Skipped steps count as 0. Their loss may be NaN, so nothing is
// multiplied by 0.
__device__ void add_step(const StepSumsArguments& a) {
  enum { kLoss, kCorrect, kCounted, kSkipped, kFirstSkipped, kBadLosses };
  const bool is_kept = *a.skipped == 0;
  const double loss = a.step[0], correct = a.step[1], images = *a.images;
  if (!is_kept && a.sums[kSkipped] == 0) a.sums[kFirstSkipped] = *a.number;
  if (is_kept) a.sums[kLoss] += loss;
  a.sums[kCorrect] += correct;
  if (is_kept) a.sums[kCounted] += images;
  a.sums[kSkipped] += *a.skipped;
  if (loss - loss != 0) a.sums[kBadLosses] += 1;
  if (is_kept) {
    a.last[0] = loss;
    a.last[1] = correct;
    a.last[2] = images;
  }
  a.step[0] = a.step[1] = 0;
}
TANDEM_KERNEL(add_step_all, StepSumsArguments, add_step(arguments))

// blockIdx.y: which of the copies.
__device__ void copy_where(const CopyArguments& a) {
  if (*a.condition == 0) return;
  Byte* to = static_cast<Byte*>(a.to[blockIdx.y]);
  const Byte* from = static_cast<const Byte*>(a.from[blockIdx.y]);
  const Long step = static_cast<Long>(gridDim.x) * blockDim.x;
  for (Long i = thread_index(); i < a.bytes[blockIdx.y]; i += step) to[i] = from[i];
}
TANDEM_KERNEL(copy_where_all, CopyArguments, copy_where(arguments))

}  // namespace tandem::gpu
