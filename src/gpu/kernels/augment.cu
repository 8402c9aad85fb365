// data::Transform::apply for a batch: output (y, x) is input (y + shift_y, x' + shift_x), black or
// reflected outside, where x' is x, mirrored where `flip`. One thread for each pixel of the result.
#include "common.cuh"

namespace tandem::gpu {

// data::reflected
__device__ inline int reflected(int place, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  int within = place % period;
  if (within < 0) within += period;
  return within < period - within ? within : period - within;
}

template <class T>
__device__ void augment(const AugmentArguments& a) {
  const Long pixel = thread_index();
  if (pixel >= a.pixels) return;
  const Long area = static_cast<Long>(a.height) * a.width;
  const Long image = pixel / area;
  const int place = static_cast<int>(pixel % area);
  const int row = place / a.width, column = place % a.width;
  const int* drawn = a.drawn + image * 5;
  int y = row + drawn[0];
  int x = (drawn[2] == 1 ? a.width - 1 - column : column) + drawn[1];
  if (drawn[3] == 1) {
    y = reflected(y, a.height);
    x = reflected(x, a.width);
  }
  const bool is_inside = y >= 0 && y < a.height && x >= 0 && x < a.width;
  const Byte* from = a.images + (drawn[4] * area + (is_inside ? y * a.width + x : 0)) * a.channels;
  T* out = static_cast<T*>(a.out);
  for (int c = 0; c < a.channels; ++c) {
    const float seen = is_inside ? static_cast<float>(from[c]) : 0.0F;
    const float value = seen * a.scale[c] - a.offset[c];
    const Long to = a.channels_last ? pixel * a.channels + c
                                    : (image * a.channels + c) * area + place;
    out[to] = narrow<T>(value);
  }
}

TANDEM_KERNELS(augment, AugmentArguments)

}  // namespace tandem::gpu
