// Ioffe and Szegedy, "Batch Normalization", 2015, section 3, in terms of x:
//   of_x = scale * passed + slope * x + offset
// `passed` is the gradient before the activation.
#include "norm.cuh"

namespace tandem::gpu {

// The operands of V results. x is not loaded with pooling after the norm; the window has it.
template <class T, int V>
struct Taken {
  Pack<T, V> x, gradient, residual;
  Pack<Byte, V> choice;
};

template <class T, int V, int P>
__device__ inline Taken<T, V> load_taken(const NormArguments& a, Long at) {
  Taken<T, V> taken = {};
  if (P != kAfterNorm) taken.x = load<V>(static_cast<const T*>(a.x) + at);
  taken.gradient = load<V>(static_cast<const T*>(a.gradient) + at);
  if (P == 0) {
    if (a.residual != nullptr) taken.residual = load<V>(static_cast<const T*>(a.residual) + at);
  } else {
    taken.choice = load<V>(a.choice + at);
  }
  return taken;
}

// The maxima of a window after the norm.
template <class T, int V>
__device__ inline void widen_chosen(const Four<T, V>& values, const Pack<Byte, V>& choice,
                                    float* x) {
  widen_all<T, V>(values.of[0], x);
  TANDEM_UNROLL
  for (int k = 1; k < 4; ++k) {
    float here[V];
    widen_all<T, V>(values.of[k], here);
    TANDEM_UNROLL
    for (int i = 0; i < V; ++i) x[i] = byte_of<V>(choice, i) == k ? here[i] : x[i];
  }
}

// The gradient before the activation.
template <class T, int V, int P, int A>
__device__ inline void passed_gradient(const NormArguments& a, const Factors<V>& factors,
                                       const Taken<T, V>& taken, const float* x, float* passed) {
  float residual[V];
  widen_all<T, V>(taken.gradient, passed);
  widen_all<T, V>(taken.residual, residual);
  const bool has_residual = P == 0 && a.residual != nullptr;
  TANDEM_UNROLL
  for (int k = 0; k < V; ++k) {
    float value = factors.normalized(k, x[k]);
    if (has_residual) value += residual[k];
    if (A == kRelu) {  // not by a product, because the gradient may be infinite
      if (value <= 0) passed[k] = 0;
    } else if (A == kGelu) {
      passed[k] *= slope_of_gelu<T>(value);
    }
  }
}

template <int V>
struct GradientSums {
  __device__ void add(const Factors<V>& factors, const float* x, const float* passed) {
    TANDEM_UNROLL
    for (int k = 0; k < V; ++k) {
      sum[k] += passed[k];
      product[k] = fmaf(passed[k], x[k] - factors.mean[k], product[k]);
    }
  }
  float sum[V] = {}, product[V] = {};
};

template <class T, int V, int P, int A>
__device__ inline void add_windows(const NormArguments& a, const Place<V>& place,
                                   const Factors<V>& factors, GradientSums<V>& sums) {
  struct Loaded {
    Taken<T, V> taken;
    Four<T, V> x;
  };
  for_each_item<1>(
      place, pooled_items(a),
      [&](int item) {
        return Loaded{load_taken<T, V, P>(a, place.at(a, item)),
                      load_window<T, V>(a, Window(a, item, false), place.channel)};
      },
      [&](int, const Loaded& loaded) {
        float x[V], passed[V];
        widen_chosen<T, V>(loaded.x, loaded.taken.choice, x);
        passed_gradient<T, V, P, A>(a, factors, loaded.taken, x, passed);
        sums.add(factors, x, passed);
      });
}

template <class T, int V, int P, int A>
__device__ inline void add_items(const NormArguments& a, const Place<V>& place,
                                 const Factors<V>& factors, GradientSums<V>& sums) {
  if (P == kAfterNorm) return add_windows<T, V, P, A>(a, place, factors, sums);
  for_each_item<2>(
      place, static_cast<int>(a.counted),
      [&](int item) { return load_taken<T, V, P>(a, place.at(a, item)); },
      [&](int, const Taken<T, V>& taken) {
        float x[V], passed[V];
        widen_all<T, V>(taken.x, x);
        passed_gradient<T, V, P, A>(a, factors, taken, x, passed);
        sums.add(factors, x, passed);
      });
}

__device__ inline void finish_gradient_sums(const NormArguments& a, int c, double sum,
                                            double product) {
  a.of_bias[c] = static_cast<float>(sum);
  if (a.factors == nullptr) return;
  const double inverse = a.factors[a.channels + c], scale = a.factors[2 * a.channels + c];
  const double count = static_cast<double>(a.counted);
  const double along = -scale * inverse * inverse * product / count;
  a.of_weight[c] = static_cast<float>(product * inverse);
  a.corrections[c] = static_cast<float>(along);
  a.corrections[a.channels + c] = static_cast<float>(-scale * sum / count - along * a.factors[c]);
}

// A norm that pools first has kept the pooled x, so its kernel is that without pooling.
template <class T, int V, int P, int A>
__device__ void norm_gradient_sums(const NormArguments& a) {
  const Place<V> place(a);
  GradientSums<V> sums;
  if (place.is_used) add_items<T, V, P, A>(a, place, Factors<V>(a, place.channel), sums);
  __shared__ double whole[2 * kMostTile];
  if (!add_blocks<V>(a, place, sums.sum, sums.product, whole)) return;
  const int width = a.lanes * V;
  TANDEM_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    if (place.tile + i >= a.channels) continue;
    finish_gradient_sums(a, place.tile + i, whole[i], whole[width + i]);
  }
}

// The gradient of V values of x. passed: 0 where pooling did not choose the value.
template <int V>
struct Corrections {
  __device__ Corrections(const NormArguments& a, int channel) : factors(a, channel) {
    for (int k = 0; k < V; ++k) {
      slope[k] = a.corrections[channel + k];
      offset[k] = a.corrections[a.channels + channel + k];
    }
  }
  __device__ float of(int k, float x, float passed) const {
    return fmaf(factors.scale[k], passed, fmaf(slope[k], x, offset[k]));
  }
  Factors<V> factors;
  float slope[V], offset[V];
};

// Of a window, also one that an odd size cuts, which no result belongs to.
template <class T, int V, int P, int A>
__device__ inline void unpool(const NormArguments& a, int channel,
                              const Corrections<V>& corrections, int item) {
  const Window window(a, item, true);
  Taken<T, V> taken = {};
  Four<T, V> window_x = {};
  if (P == kAfterNorm) window_x = load_window<T, V>(a, window, channel);
  if (window.is_whole) taken = load_taken<T, V, P>(a, window.pooled * a.channels + channel);
  float x[V], passed[V];
  if (P == kAfterNorm) {
    widen_chosen<T, V>(window_x, taken.choice, x);
  } else {
    widen_all<T, V>(taken.x, x);
  }
  passed_gradient<T, V, P, A>(a, corrections.factors, taken, x, passed);
  TANDEM_UNROLL
  for (int k = 0; k < 4; ++k) {
    if (!window.has(a, k)) continue;
    float out[V];
    if (P == kAfterNorm) widen_all<T, V>(window_x.of[k], x);
    TANDEM_UNROLL
    for (int i = 0; i < V; ++i) {
      const bool is_chosen = window.is_whole && byte_of<V>(taken.choice, i) == k;
      out[i] = corrections.of(i, x[i], is_chosen ? passed[i] : 0.0F);
      if (P == kBeforeNorm && !is_chosen) out[i] = 0;  // it was dropped before the norm
    }
    const Long at = window.at(a, k) * a.channels + channel;
    store<T, V>(narrow_all<T, V>(out), static_cast<T*>(a.out) + at);
  }
}

template <class T, int V, int P, int A>
__device__ inline void correct_pixels(const NormArguments& a, const Place<V>& place,
                                      const Corrections<V>& corrections) {
  const int items = static_cast<int>(a.counted);
  const auto at = [&](int item) { return place.at(a, from_the_end(items, item)); };
  for_each_item<2>(
      place, items, [&](int item) { return load_taken<T, V, P>(a, at(item)); },
      [&](int item, const Taken<T, V>& taken) {
        float x[V], passed[V];
        widen_all<T, V>(taken.x, x);
        passed_gradient<T, V, P, A>(a, corrections.factors, taken, x, passed);
        if (a.of_residual != nullptr) {
          store<T, V>(narrow_all<T, V>(passed), static_cast<T*>(a.of_residual) + at(item));
        }
        TANDEM_UNROLL
        for (int k = 0; k < V; ++k) x[k] = corrections.of(k, x[k], passed[k]);
        store<T, V>(narrow_all<T, V>(x), static_cast<T*>(a.out) + at(item));
      });
}

template <class T, int V, int P, int A>
__device__ void norm_of_x(const NormArguments& a) {
  const Place<V> place(a);
  if (!place.is_used) return;
  const Corrections<V> corrections(a, place.channel);
  if (P == 0) return correct_pixels<T, V, P, A>(a, place, corrections);
  const int items = static_cast<int>(a.images) * ((a.height + 1) / 2) * ((a.width + 1) / 2);
  for (int item = place.first; item < items; item += place.step) {
    unpool<T, V, P, A>(a, place.channel, corrections, from_the_end(items, item));
  }
}

TANDEM_FORM(norm_gradient_sums, NormArguments, 0, 0)
TANDEM_FORM(norm_gradient_sums, NormArguments, 0, 1)
TANDEM_FORM(norm_gradient_sums, NormArguments, 0, 2)
TANDEM_FORM(norm_gradient_sums, NormArguments, 2, 1)
TANDEM_FORM(norm_of_x, NormArguments, 0, 0)
TANDEM_FORM(norm_of_x, NormArguments, 0, 1)
TANDEM_FORM(norm_of_x, NormArguments, 0, 2)
TANDEM_FORM(norm_of_x, NormArguments, 1, 2)
TANDEM_FORM(norm_of_x, NormArguments, 2, 1)

}  // namespace tandem::gpu
