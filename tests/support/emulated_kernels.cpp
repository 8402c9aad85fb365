// The kernels and the blocks of threads that run them; nothing of libtorch.
#include "emulated_kernels.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tandem::gpu::emulated {

struct Dimensions {
  unsigned x = 0, y = 0;
};
// Not static, so that the compiler reads them again after each function that may change fibers.
Dimensions block_dim, grid_dim, block_index, thread_index;

using Kernel = void (*)(const void* arguments);
std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}
struct Registration {
  Registration(const char* name, Kernel kernel) { kernels()[name] = kernel; }
};

// Runs a block of threads.
class Fibers {
 public:
  void run(Kernel kernel, const void* arguments, unsigned threads, bool backwards) {
    kernel_ = kernel;
    arguments_ = arguments;
    threads_ = threads;
    next_ = 0;
    backwards_ = backwards;
    while (next_ < threads_) start();
    while (!waiting_.empty()) {
      std::vector<Fiber*> now;
      now.swap(waiting_);
      if (backwards_)
        std::sort(now.begin(), now.end(),
                  [](const Fiber* one, const Fiber* other) { return one->thread > other->thread; });
      for (Fiber* fiber : now) resume(*fiber);
    }
  }

  void wait() {
    Fiber* const self = current_;
    waiting_.push_back(self);
    swapcontext(&self->context, &scheduler_);
  }

 private:
  static constexpr std::size_t kStackBytes = 128 << 10;
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    unsigned thread = 0;
  };

  // A fiber runs threads to their end, and begins another until one waits.
  static void run_threads(unsigned low, unsigned high) {
    auto* const all = reinterpret_cast<Fibers*>((static_cast<std::uintptr_t>(high) << 32) | low);
    Fiber* const self = all->current_;
    while (all->next_ < all->threads_) {
      const unsigned number = all->next_++;
      self->thread = all->backwards_ ? all->threads_ - 1 - number : number;
      thread_index.x = self->thread;
      all->kernel_(all->arguments_);
    }
    all->idle_.push_back(self);
  }

  void start() {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>());
      idle_.push_back(fibers_.back().get());
    }
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&run_threads), 2,
                static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
    resume(fiber);
  }

  void resume(Fiber& fiber) {
    current_ = &fiber;
    thread_index.x = fiber.thread;
    swapcontext(&scheduler_, &fiber.context);
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_, waiting_;
  Fiber* current_ = nullptr;
  ucontext_t scheduler_{};
  Kernel kernel_ = nullptr;
  const void* arguments_ = nullptr;
  unsigned threads_ = 0, next_ = 0;
  bool backwards_ = false;
};

Fibers& fibers() {
  static auto& all = *new Fibers;
  return all;
}

void run_kernel(const Grid& grid, const void* arguments, bool backwards) {
  const Kernel kernel = kernels().at(grid.kernel);
  grid_dim = {grid.blocks, grid.tiles};
  block_dim = {grid.threads, 1};
  const unsigned blocks = grid.blocks * grid.tiles;
  for (unsigned i = 0; i < blocks; ++i) {
    const unsigned block = backwards ? blocks - 1 - i : i;
    block_index = {block % grid.blocks, block / grid.blocks};
    fibers().run(kernel, arguments, grid.threads, backwards);
  }
}

}  // namespace tandem::gpu::emulated

// What the kernels use of CUDA.
#define __device__
#define __shared__ static
#define threadIdx ::tandem::gpu::emulated::thread_index
#define blockIdx ::tandem::gpu::emulated::block_index
#define blockDim ::tandem::gpu::emulated::block_dim
#define gridDim ::tandem::gpu::emulated::grid_dim
#define TANDEM_UNROLL
#define TANDEM_ROLLED
#define TANDEM_KERNEL(name, Arguments, call)                                           \
  static const emulated::Registration registered_##name(#name, [](const void* given) { \
    const Arguments& arguments = *static_cast<const Arguments*>(given);                \
    call;                                                                              \
  });

namespace {

void __syncthreads() { tandem::gpu::emulated::fibers().wait(); }
void __threadfence() {}
unsigned atomicAdd(unsigned* to, unsigned value) {
  *to += value;
  return *to - value;
}
float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
unsigned __float_as_uint(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
float float_of_half(unsigned short bits) {
  const unsigned sign = (bits & 0x8000U) << 16, magnitude = (bits & 0x7FFFU) << 13;
  if ((bits & 0x7C00U) == 0x7C00U) return __uint_as_float(sign | 0x7F800000U | magnitude);
  const float value = __uint_as_float(magnitude) * 0x1p112F;  // the bias of its exponents
  return sign != 0 ? -value : value;
}
unsigned short half_of_float(float value) {
  const unsigned sign = __float_as_uint(value) >> 16 & 0x8000U;
  const float size = std::fabs(value);
  unsigned bits = 0;
  if (value != value) {
    bits = 0x7E00U;
  } else if (size >= 65520) {
    bits = 0x7C00U;
  } else if (size < 0x1p-14F) {  // the sum rounds to the last place of subnormal halves
    bits = __float_as_uint(size + 0.5F) - __float_as_uint(0.5F);
  } else {
    bits = __float_as_uint(size) - (112U << 23);
    bits = (bits + 0xFFFU + (bits >> 13 & 1U)) >> 13;
  }
  return static_cast<unsigned short>(sign | bits);
}
unsigned short bfloat16_of_float(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<unsigned short>(value == value ? rounded >> 16 : 0x7FFFU);
}
void load_past_l1(const float* from, float* to) { std::copy(from, from + 4, to); }
unsigned pair_of_bfloat16(float low, float high) {
  return bfloat16_of_float(low) | static_cast<unsigned>(bfloat16_of_float(high)) << 16;
}
unsigned pair_of_half(float low, float high) {
  return half_of_float(low) | static_cast<unsigned>(half_of_float(high)) << 16;
}
float fast_exp2(float value) { return std::exp2(value); }
float fast_reciprocal(float value) { return 1 / value; }

}  // namespace

#include "gpu/kernels/augment.cu"
#include "gpu/kernels/muon.cu"
#include "gpu/kernels/norm_backward.cu"
#include "gpu/kernels/norm_forward.cu"
#include "gpu/kernels/step.cu"
