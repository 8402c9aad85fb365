#include "norm.cuh"

namespace tandem::gpu {

// The maxima of a window after `change`, and which pixel each is.
template <class T, int V, class Change>
__device__ inline Pack<Byte, V> find_maxima(const Four<T, V>& values, const Change& change,
                                            float* best) {
  int choice[V] = {};
  TANDEM_UNROLL
  for (int k = 0; k < 4; ++k) {
    float here[V];
    widen_all<T, V>(values.of[k], here);
    TANDEM_UNROLL
    for (int i = 0; i < V; ++i) {
      const float value = change(i, here[i]);
      const bool is_best = k == 0 || wins(value, best[i]);
      best[i] = is_best ? value : best[i];
      choice[i] = is_best ? k : choice[i];
    }
  }
  return bytes_of<V>(choice);
}
__device__ inline float unchanged(int, float value) { return value; }

// The first value of the channels from `channel` that the statistics are of.
template <class T, int V, int P>
__device__ inline void first_values(const NormArguments& a, int channel, float* values) {
  if (P != kBeforeNorm) {
    widen_all<T, V>(load<V>(static_cast<const T*>(a.x) + channel), values);
  } else {
    find_maxima<T, V>(load_window<T, V>(a, Window(a, 0, false), channel), unchanged, values);
  }
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

// Adds up differences from the first value of the channel. It is about as far from the mean as any,
// so their squares lose few digits.
template <int V>
struct Statistics {
  __device__ void add(const float* values) {
    TANDEM_UNROLL
    for (int k = 0; k < V; ++k) {
      const float difference = values[k] - shift[k];
      sum[k] += difference;
      squares[k] = fmaf(difference, difference, squares[k]);
    }
  }
  float shift[V] = {}, sum[V] = {}, squares[V] = {};
};

template <class T, int V>
__device__ inline void add_pixels(const NormArguments& a, const Place<V>& place,
                                  Statistics<V>& statistics) {
  for_each_item<4>(
      place, static_cast<int>(a.counted),
      [&](int item) { return load<V>(static_cast<const T*>(a.x) + place.at(a, item)); },
      [&](int, const Pack<T, V>& pixel) {
        float values[V];
        widen_all<T, V>(pixel, values);
        statistics.add(values);
      });
}

// Also notes the maxima.
template <class T, int V>
__device__ inline void add_windows(const NormArguments& a, const Place<V>& place,
                                   Statistics<V>& statistics) {
  for_each_item<2>(
      place, static_cast<int>(a.counted),
      [&](int item) { return load_window<T, V>(a, Window(a, item, false), place.channel); },
      [&](int item, const Four<T, V>& values) {
        float best[V];
        const Pack<Byte, V> choice = find_maxima<T, V>(values, unchanged, best);
        const Long at = place.at(a, item);
        store<T, V>(narrow_all<T, V>(best), static_cast<T*>(a.pooled) + at);
        store<Byte, V>(choice, a.choice + at);
        statistics.add(best);
      });
}

template <class T, int V, int P, int A>
__device__ void norm_statistics(const NormArguments& a) {
  __shared__ float shifts[kMostTile];
  const Place<V> place(a);
  Statistics<V> statistics;
  if (place.is_used) {
    first_values<T, V, P>(a, place.channel, statistics.shift);
    if (place.row == 0) {
      for (int k = 0; k < V; ++k) shifts[place.lane * V + k] = statistics.shift[k];
    }
    if (P == kBeforeNorm) {
      add_windows<T, V>(a, place, statistics);
    } else {
      add_pixels<T, V>(a, place, statistics);
    }
  }
  __shared__ double whole[2 * kMostTile];
  if (!add_blocks<V>(a, place, statistics.sum, statistics.squares, whole)) return;
  const int width = a.lanes * V;
  TANDEM_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    if (place.tile + i >= a.channels) continue;
    finish_statistics(a, place.tile + i, shifts[i], whole[i], whole[width + i]);
  }
}

template <class T, int V, int A>
__device__ inline void store_activated(const NormArguments& a, float* values, Long at) {
  TANDEM_UNROLL
  for (int k = 0; k < V; ++k) values[k] = activated<T, A>(values[k]);
  store<T, V>(narrow_all<T, V>(values), static_cast<T*>(a.out) + at);
}

template <class T, int V, int A>
__device__ inline void apply_and_pool(const NormArguments& a, const Place<V>& place,
                                      const Factors<V>& factors) {
  const int items = pooled_items(a);
  const auto normalized = [&](int i, float value) { return factors.normalized(i, value); };
  for_each_item<2>(
      place, items,
      [&](int item) {
        const Window window(a, from_the_end(items, item), false);
        return load_window<T, V>(a, window, place.channel);
      },
      [&](int item, const Four<T, V>& values) {
        float best[V];
        const Pack<Byte, V> choice = find_maxima<T, V>(values, normalized, best);
        const Long at = place.at(a, from_the_end(items, item));
        store<Byte, V>(choice, a.choice + at);
        store_activated<T, V, A>(a, best, at);
      });
}

// a.x: the pooled x where pooling comes before the norm.
template <class T, int V, int P, int A>
__device__ void norm_apply(const NormArguments& a) {
  const Place<V> place(a);
  if (!place.is_used) return;
  const Factors<V> factors(a, place.channel);
  if (P == kAfterNorm) return apply_and_pool<T, V, A>(a, place, factors);
  struct Loaded {
    Pack<T, V> x, residual;
  };
  const bool has_residual = a.residual != nullptr;
  const int items = static_cast<int>(a.counted);
  const auto at = [&](int item) { return place.at(a, from_the_end(items, item)); };
  for_each_item<4>(
      place, items,
      [&](int item) {
        Loaded loaded = {};
        loaded.x = load<V>(static_cast<const T*>(a.x) + at(item));
        if (has_residual) loaded.residual = load<V>(static_cast<const T*>(a.residual) + at(item));
        return loaded;
      },
      [&](int item, const Loaded& loaded) {
        float values[V], residual[V];
        widen_all<T, V>(loaded.x, values);
        widen_all<T, V>(loaded.residual, residual);
        TANDEM_UNROLL
        for (int k = 0; k < V; ++k) {
          values[k] = factors.normalized(k, values[k]);
          if (has_residual) values[k] += residual[k];
        }
        store_activated<T, V, A>(a, values, at(item));
      });
}

TANDEM_FORM(norm_statistics, NormArguments, 0, 0)
TANDEM_FORM(norm_statistics, NormArguments, 1, 0)
TANDEM_FORM(norm_apply, NormArguments, 0, 0)
TANDEM_FORM(norm_apply, NormArguments, 0, 1)
TANDEM_FORM(norm_apply, NormArguments, 0, 2)
TANDEM_FORM(norm_apply, NormArguments, 2, 1)

}  // namespace tandem::gpu
