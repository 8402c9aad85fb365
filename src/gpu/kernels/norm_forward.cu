#include "norm.cuh"

namespace tandem::gpu {

// The values of V channels that the statistics are of: a pixel's, or the maximum of a window, which
// is noted if this is not the `peek` at item 0.
template <class T, int V>
__device__ inline Pack<T, V> counted_values(const NormArguments& a, const Place<V>& place,
                                            Long item, bool peek) {
  const T* x = static_cast<const T*>(a.x);
  if (a.pool != kBeforeNorm) return load<V>(x + item * a.channels + place.channel);
  const Window window(a, item, false);
  Pack<T, V> best = load<V>(x + window.pixel * a.channels + place.channel);
  Pack<Byte, V> choice = {};
  for (int k = 1; k < 4; ++k) {
    const Pack<T, V> other = load<V>(x + window.at(a, k) * a.channels + place.channel);
    for (int i = 0; i < V; ++i) {
      if (!wins(widen(other.v[i]), widen(best.v[i]))) continue;
      best.v[i] = other.v[i];
      choice.v[i] = static_cast<Byte>(k);
    }
  }
  if (!peek) {
    store<T, V>(best, static_cast<T*>(a.pooled) + item * a.channels + place.channel);
    store<Byte, V>(choice, a.choice + item * a.channels + place.channel);
  }
  return best;
}

__device__ inline void finish_statistics(const NormArguments& a, int c, float shift, double sum,
                                         double squares) {
  const double count = static_cast<double>(a.counted);
  const double away = sum / count;  // of the mean from `shift`
  const double mean = shift + away;
  double variance = squares / count - away * away;
  if (variance < 0) variance = 0;
  const double inverse = 1 / sqrt(variance + a.epsilon);
  const double scale = a.weight == nullptr ? inverse : a.weight[c] * inverse;
  a.factors[c] = static_cast<float>(mean);
  a.factors[a.channels + c] = static_cast<float>(inverse);
  a.factors[2 * a.channels + c] = static_cast<float>(scale);
  a.factors[3 * a.channels + c] = static_cast<float>(a.bias[c] - mean * scale);
  if (a.running_mean == nullptr) return;
  const double unbiased = variance * count / (count - 1);
  const double kept = 1 - a.momentum;
  a.running_mean[c] = static_cast<float>(kept * a.running_mean[c] + a.momentum * mean);
  a.running_variance[c] =
      static_cast<float>(kept * a.running_variance[c] + a.momentum * unbiased);
}

// Sums of differences from the first value of the channel, whose squares lose few digits, because it
// is about as far from the mean as any.
template <class T, int V>
__device__ void norm_statistics(const NormArguments& a) {
  const Place<V> place(a);
  float shift[V] = {}, sum[V] = {}, squares[V] = {};
  if (place.is_used) {
    const Pack<T, V> first = counted_values<T, V>(a, place, 0, true);
    for (int k = 0; k < V; ++k) shift[k] = widen(first.v[k]);
    for (Long item = place.first; item < a.counted; item += place.step) {
      const Pack<T, V> values = counted_values<T, V>(a, place, item, false);
      for (int k = 0; k < V; ++k) {
        const float difference = widen(values.v[k]) - shift[k];
        sum[k] += difference;
        squares[k] += difference * difference;
      }
    }
  }
  double whole[2 * V];
  if (!add_blocks<V>(a, place, sum, squares, whole)) return;
  for (int k = 0; k < V; ++k) {
    finish_statistics(a, place.channel + k, shift[k], whole[k], whole[V + k]);
  }
}

// The maximum of a window after normalization.
template <class T, int V>
__device__ inline void normalize_window(const NormArguments& a, const Place<V>& place,
                                        const float* scale, const float* shift, Long item,
                                        float* best) {
  const Window window(a, item, false);
  Pack<Byte, V> choice = {};
  for (int k = 0; k < 4; ++k) {
    const Pack<T, V> values = load<V>(static_cast<const T*>(a.x) +
                                      window.at(a, k) * a.channels + place.channel);
    for (int i = 0; i < V; ++i) {
      const float value = widen(values.v[i]) * scale[i] + shift[i];
      if (k > 0 && !wins(value, best[i])) continue;
      best[i] = value;
      choice.v[i] = static_cast<Byte>(k);
    }
  }
  store<Byte, V>(choice, a.choice + item * a.channels + place.channel);
}

// a.x: the pooled x where pooling comes before the norm.
template <class T, int V>
__device__ void norm_apply(const NormArguments& a) {
  const Place<V> place(a);
  if (!place.is_used) return;
  float scale[V], shift[V];
  for (int k = 0; k < V; ++k) {
    scale[k] = a.factors[2 * a.channels + place.channel + k];
    shift[k] = a.factors[3 * a.channels + place.channel + k];
  }
  const Long items = a.pool == kAfterNorm ? a.images * (a.height / 2) * (a.width / 2) : a.counted;
  for (Long item = place.first; item < items; item += place.step) {
    const Long at = item * a.channels + place.channel;
    float value[V];
    if (a.pool == kAfterNorm) {
      normalize_window<T, V>(a, place, scale, shift, item, value);
    } else {
      const Pack<T, V> x = load<V>(static_cast<const T*>(a.x) + at);
      for (int k = 0; k < V; ++k) value[k] = widen(x.v[k]) * scale[k] + shift[k];
    }
    if (a.residual != nullptr) {
      const Pack<T, V> residual = load<V>(static_cast<const T*>(a.residual) + at);
      for (int k = 0; k < V; ++k) value[k] += widen(residual.v[k]);
    }
    Pack<T, V> out;
    for (int k = 0; k < V; ++k) out.v[k] = narrow<T>(activated(a.activation, value[k]));
    store<T, V>(out, static_cast<T*>(a.out) + at);
  }
}

TANDEM_WIDE_KERNELS(norm_statistics, NormArguments)
TANDEM_WIDE_KERNELS(norm_apply, NormArguments)

}  // namespace tandem::gpu
