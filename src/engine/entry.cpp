// The library's one entry. Commands come here from src/commands through the table in engine.hpp.
#include "entry.hpp"

#include <exception>

#include "session/engine.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/gpu_failure.hpp"
#include "tandem/model/tensor_memory.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::app {
namespace {

template <auto command>
struct Entry;

// Runs `command` with memory for tensors, and gives libtorch's errors their exit codes.
template <typename Result, typename... Arguments, Result (*command)(Arguments...)>
struct Entry<command> {
  static Result call(Arguments... arguments) {
    const model::TensorMemory memory;
    try {
      return command(arguments...);
    } catch (const std::exception& error) {
      const std::string text = model::gpu_failure(error);
      if (text.empty()) throw;
      throw UnavailableError(text);
    }
  }
};

constexpr Engine kEngine{
    &model::torch_version,         &Entry<&train_run>::call,         &Entry<&evaluate_model>::call,
    &Entry<&predict_images>::call, &Entry<&export_model_file>::call, &Entry<&inspect_model>::call,
    &Entry<&verify_model>::call,   &Entry<&time_step>::call,         &Entry<&time_all_reduce>::call,
    &Entry<&time_loader>::call};

}  // namespace
}  // namespace tandem::app

const tandem::app::Engine* tandem_engine() { return &tandem::app::kEngine; }
