// Differences between versions of libtorch, 1.13 and later. Autocast state belongs to the calling
// thread.
#pragma once

#include <torch/version.h>

#include <exception>
#include <string>

#include "tandem/model/libtorch.hpp"

// Whether this is built against libtorch MAJOR.MINOR or later.
#define TANDEM_LIBTORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||         \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace torch::autograd::profiler {
struct KinetoEvent;
}

namespace tandem::model {

// The version of the loaded library: "1.13.0" for Debian's 1.13.1 package.
std::string torch_version();

// The cudaStream_t on which the calling thread computes on this GPU; null: the legacy stream, which
// is libtorch's default. Versions before 2.11 do not give it.
void* current_stream(torch::Device gpu);
constexpr bool kTellsCurrentStream = TANDEM_LIBTORCH_SINCE(2, 11);

// Nondeterministic operations of libtorch throw from now on, in the whole process.
void use_deterministic_algorithms();

// Autocast of operations on `device`, which is the CPU or CUDA, to `type`.
struct Autocast {
  bool enabled = false;
  torch::Dtype type = torch::kBFloat16;
};
Autocast autocast_on(torch::DeviceType device);
void set_autocast_on(torch::DeviceType device, Autocast autocast);

// When a profiled event began, and how long it took.
struct EventTime {
  double begin_microseconds = 0;
  double microseconds = 0;
};
EventTime time_of(const torch::autograd::profiler::KinetoEvent& event);

}  // namespace tandem::model
