#include "tandem/model/gpu_failure.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>

#include "tandem/core/error.hpp"

namespace tandem::model {
namespace {

std::string& gpu_name() {
  static std::string name;
  return name;
}

std::string at_gpu(const std::string& cause) {
  return gpu_name().empty() ? cause : gpu_name() + ": " + cause;
}

// CUDA's libraries have no error types of their own in libtorch, and CUDA has one since 2.8 only.
bool is_of_cuda(const std::string& message) {
  constexpr std::array<const char*, 5> kWords{
      "CUDA error: ", "CUDA driver error: ", "CUDNN_STATUS_", "CUBLAS_STATUS_", "CUFFT_STATUS_"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* words) { return message.find(words) != std::string::npos; });
}

}  // namespace

void name_gpu(const std::string& name) { gpu_name() = name; }

std::string gpu_failure(const std::exception& error) {
  if (dynamic_cast<const c10::Error*>(&error) == nullptr) return "";
  const std::string message = message_of(error);
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) {
    return at_gpu(message) + "\ngive a smaller --batch-size, or fewer ranks on this GPU";
  }
  // The lines after the first are for programmers of kernels.
  if (!is_of_cuda(message)) return "";
  return at_gpu(message.substr(0, message.find('\n'))) +
         "\nthe GPU, its driver or a kernel has failed; the system's log may name the cause "
         "(dmesg | grep -i xid), and a run goes on from its last checkpoint with --resume auto";
}

}  // namespace tandem::model
