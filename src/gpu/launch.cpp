#include "launch.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tandem::gpu {
namespace {

constexpr std::int64_t kFewestTickets = 64;

Launcher* current_launcher = nullptr;

}  // namespace

void use_launcher(Launcher& launcher) { current_launcher = &launcher; }

Launcher& launcher() {
  TORCH_CHECK(current_launcher != nullptr, "the kernels of libtandem_gpu.so were not opened");
  return *current_launcher;
}

std::string suffix_of(torch::ScalarType type) {
  if (type == torch::kFloat32) return "_float";
  if (type == torch::kBFloat16) return "_bfloat16";
  TORCH_CHECK(type == torch::kFloat16, "expected float, bfloat16 or half, found ", type);
  return "_half";
}

unsigned* tickets_of(torch::Device device, std::int64_t count) {
  static std::mutex mutex;  // forward and backward are called on two threads
  // Never destroyed: CUDA may be gone when the process ends. A recorded graph goes on using the
  // array of its time, so arrays that became too small stay.
  using Key = std::pair<c10::DeviceIndex, c10::StreamId>;
  static auto& tickets = *new std::map<Key, std::vector<torch::Tensor>>;
  const c10::StreamId stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).id();
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<torch::Tensor>& arrays = tickets[{device.index(), stream}];
  if (arrays.empty() || arrays.back().numel() < count) {
    arrays.push_back(torch::zeros({std::max(count, kFewestTickets)},
                                  torch::TensorOptions(device).dtype(torch::kInt32)));
  }
  return static_cast<unsigned*>(arrays.back().data_ptr());
}

}  // namespace tandem::gpu
