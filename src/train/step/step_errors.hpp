// Adds the step's number to errors of a training step. Error and AgreedError keep their types. The
// failure of a GPU, or of its memory, becomes UnavailableError, all else InternalError.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/gpu_failure.hpp"

namespace tandem::train {

// `step` counts from 0.
template <typename Work>
void within_step(std::uint64_t step, const Work& work) {
  const auto named = [step](const std::string& message) {
    return "step " + std::to_string(step + 1) + ": " + message;
  };
  try {
    work();
  } catch (const comm::AgreedError& error) {
    throw comm::AgreedError(error.code(), named(message_of(error)));
  } catch (const Error& error) {
    throw Error(error.code(), named(message_of(error)));
  } catch (const std::exception& error) {
    const std::string of_gpu = model::gpu_failure(error);
    if (!of_gpu.empty()) throw UnavailableError(named(of_gpu));
    throw InternalError(named(message_of(error)));
  }
}

}  // namespace tandem::train
