// Detects errors of libtorch that mean that a GPU is out of memory or has failed.
#pragma once

#include <exception>
#include <string>

namespace tandem::model {

// What messages call the GPU of this process, "cuda:1 NVIDIA H100 0000:3B:00.0". Call it before the
// computation starts.
void name_gpu(const std::string& name);

// The GPU, the cause and what to do, if the error is a lack of GPU memory or the failure of a GPU,
// its kernel or a library of CUDA; "" for other errors. libtorch notices a failed kernel in a later
// call, so the place of the error says little.
std::string gpu_failure(const std::exception& error);

}  // namespace tandem::model
