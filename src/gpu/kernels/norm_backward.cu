// Ioffe and Szegedy, "Batch Normalization", 2015, section 3, in terms of x:
//   of_x = scale * passed + slope * x + offset, where `passed` is the gradient before the activation.
#include "norm.cuh"

namespace tandem::gpu {

template <int V>
struct Factors {
  __device__ Factors(const NormArguments& a, int channel) {
    for (int k = 0; k < V; ++k) {
      mean[k] = a.factors[channel + k];
      scale[k] = a.factors[2 * a.channels + channel + k];
      shift[k] = a.factors[3 * a.channels + channel + k];
    }
  }
  float mean[V], scale[V], shift[V];
};

template <class T, int V>
__device__ inline void passed_gradient(const NormArguments& a, const Factors<V>& factors, Long at,
                                       const float* x, float* passed) {
  const Pack<T, V> gradient = load<V>(static_cast<const T*>(a.gradient) + at);
  Pack<T, V> residual = {};
  if (a.residual != nullptr) residual = load<V>(static_cast<const T*>(a.residual) + at);
  for (int k = 0; k < V; ++k) {
    float value = x[k] * factors.scale[k] + factors.shift[k];
    if (a.residual != nullptr) value += widen(residual.v[k]);
    // Not a product where ReLU stops it, because the gradient may be infinite.
    const float slope = slope_of(a.activation, value);
    const bool is_stopped = a.activation == kRelu && slope == 0;
    passed[k] = is_stopped ? 0.0F : widen(gradient.v[k]) * slope;
  }
}

// x of the values that the gradients belong to.
template <class T, int V>
__device__ inline void chosen_values(const NormArguments& a, const Place<V>& place, Long item,
                                     float* x) {
  const T* from = static_cast<const T*>(a.x);
  const Long at = item * a.channels + place.channel;
  if (a.pool != kAfterNorm) {
    const Pack<T, V> values = load<V>(from + at);
    for (int k = 0; k < V; ++k) x[k] = widen(values.v[k]);
    return;
  }
  const Window window(a, item, false);
  const Pack<Byte, V> choice = load<V>(a.choice + at);
  for (int k = 0; k < V; ++k) {
    x[k] = widen(from[window.at(a, choice.v[k]) * a.channels + place.channel + k]);
  }
}

template <class T, int V>
__device__ void norm_gradient_sums(const NormArguments& a) {
  const Place<V> place(a);
  float sum[V] = {}, product[V] = {};
  if (place.is_used) {
    const Factors<V> factors(a, place.channel);
    const Long items = a.pool == kAfterNorm ? a.images * (a.height / 2) * (a.width / 2) : a.counted;
    for (Long item = place.first; item < items; item += place.step) {
      float x[V], passed[V];
      chosen_values<T, V>(a, place, item, x);
      passed_gradient<T, V>(a, factors, item * a.channels + place.channel, x, passed);
      for (int k = 0; k < V; ++k) {
        sum[k] += passed[k];
        product[k] += passed[k] * (x[k] - factors.mean[k]);
      }
    }
  }
  double whole[2 * V];
  if (!add_blocks<V>(a, place, sum, product, whole)) return;
  for (int k = 0; k < V; ++k) {
    const int c = place.channel + k;
    const double inverse = a.factors[a.channels + c], scale = a.factors[2 * a.channels + c];
    const double count = static_cast<double>(a.counted);
    const double along = -scale * inverse * inverse * whole[V + k] / count;
    a.of_bias[c] = static_cast<float>(whole[k]);
    a.of_weight[c] = static_cast<float>(whole[V + k] * inverse);
    a.corrections[c] = static_cast<float>(along);
    a.corrections[a.channels + c] =
        static_cast<float>(-scale * whole[k] / count - along * a.factors[c]);
  }
}

// The gradient of V values of x: of one that was `chosen`, also what was passed to it.
template <int V>
struct Corrections {
  __device__ Corrections(const NormArguments& a, int channel) : factors(a, channel) {
    for (int k = 0; k < V; ++k) {
      slope[k] = a.corrections[channel + k];
      offset[k] = a.corrections[a.channels + channel + k];
    }
  }
  __device__ float of(int k, float x, float passed) const {
    return factors.scale[k] * passed + slope[k] * x + offset[k];
  }
  Factors<V> factors;
  float slope[V], offset[V];
};

template <class T, int V>
__device__ inline void unpool(const NormArguments& a, const Place<V>& place,
                              const Corrections<V>& corrections, Long item) {
  const Window window(a, item, true);
  const Long pooled = window.pooled * a.channels + place.channel;
  Pack<Byte, V> choice = {};
  float x[V] = {}, passed[V] = {};
  if (window.is_whole) {
    choice = load<V>(a.choice + pooled);
    chosen_values<T, V>(a, place, window.pooled, x);
    passed_gradient<T, V>(a, corrections.factors, pooled, x, passed);
  }
  for (int k = 0; k < 4; ++k) {
    if (!window.has(a, k)) continue;
    const Long at = window.at(a, k) * a.channels + place.channel;
    Pack<T, V> here = {}, out;
    if (a.pool == kAfterNorm) here = load<V>(static_cast<const T*>(a.x) + at);
    for (int i = 0; i < V; ++i) {
      const bool is_chosen = window.is_whole && choice.v[i] == k;
      float value = 0;  // of what was dropped before the norm
      if (a.pool == kAfterNorm) {
        value = corrections.of(i, widen(here.v[i]), is_chosen ? passed[i] : 0.0F);
      } else if (is_chosen) {
        value = corrections.of(i, x[i], passed[i]);
      }
      out.v[i] = narrow<T>(value);
    }
    store<T, V>(out, static_cast<T*>(a.out) + at);
  }
}

template <class T, int V>
__device__ void norm_of_x(const NormArguments& a) {
  const Place<V> place(a);
  if (!place.is_used) return;
  const Corrections<V> corrections(a, place.channel);
  const Long items = a.pool == 0 ? a.counted
                                 : a.images * ((a.height + 1) / 2) * ((a.width + 1) / 2);
  for (Long item = place.first; item < items; item += place.step) {
    if (a.pool != 0) {
      unpool<T, V>(a, place, corrections, item);
      continue;
    }
    const Long at = item * a.channels + place.channel;
    float x[V], passed[V];
    chosen_values<T, V>(a, place, item, x);
    passed_gradient<T, V>(a, corrections.factors, at, x, passed);
    Pack<T, V> out, residual;
    for (int k = 0; k < V; ++k) {
      out.v[k] = narrow<T>(corrections.of(k, x[k], passed[k]));
      residual.v[k] = narrow<T>(passed[k]);
    }
    store<T, V>(out, static_cast<T*>(a.out) + at);
    if (a.of_residual != nullptr) store<T, V>(residual, static_cast<T*>(a.of_residual) + at);
  }
}

TANDEM_WIDE_KERNELS(norm_gradient_sums, NormArguments)
TANDEM_WIDE_KERNELS(norm_of_x, NormArguments)

}  // namespace tandem::gpu
