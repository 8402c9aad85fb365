#include "tandem/model/gpu_failure.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

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

// "" for an error that is not libtorch's. TorchScript's interpreter keeps only the message of an
// exception, after the place in the network.
std::string message_of_libtorch(const std::exception& error) {
  std::string message = message_of(error);
  if (dynamic_cast<const c10::Error*>(&error) != nullptr) return message;
  const std::string before = "\nRuntimeError: ";
  const std::size_t at = message.rfind(before);
  const bool is_script = message.find("failed in the TorchScript interpreter") != std::string::npos;
  return is_script && at != std::string::npos ? trim(message.substr(at + before.size())) : "";
}

}  // namespace

void name_gpu(const std::string& name) { gpu_name() = name; }

std::string gpu_failure(const std::exception& error) {
  const std::string message = message_of_libtorch(error);
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
      begins_with(message, "CUDA out of memory")) {
    return at_gpu(message) + "\ngive a smaller --batch-size, or fewer ranks on this GPU";
  }
  // The lines after the first are for programmers of kernels.
  if (!is_of_cuda(message)) return "";
  return at_gpu(message.substr(0, message.find('\n'))) +
         "\nthe GPU, its driver or a kernel has failed; the system's log may name the cause "
         "(dmesg | grep -i xid), and a run goes on from its last checkpoint with --resume auto";
}

}  // namespace tandem::model
