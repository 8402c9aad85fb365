// The versions of CUDA and NCCL that this program was built for, and those on this host.
#pragma once

#include <string>
#include <vector>

namespace tandem::comm {

// "12.4" for 12040.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The versions of the headers: "CUDA 13.0, NCCL 2.28.9", or "without CUDA".
std::string gpu_libraries_built();
// The CUDA version of the headers, in CUDA's form: 13000 is 13.0; 0: without CUDA.
int cuda_version_built();

// Makes NCCL connect all peers when it starts, unless the environment says otherwise. Call it
// before other threads run, because it may set a variable of the environment.
void set_nccl_defaults();

// What this program opens to use GPUs, by the names that the dynamic loader looks for. Empty in a
// build without CUDA.
std::vector<std::string> gpu_library_names();

// Opens the libraries. Their versions: "CUDA 13.0, NCCL 2.28.9", or why they cannot be used. Empty
// in a build without CUDA.
std::string gpu_libraries_found();

// "built CUDA 13.0, NCCL 2.28.9; found CUDA 13.0, NCCL 2.28.9"
inline std::string describe_gpu_libraries() {
  const std::string found = gpu_libraries_found();
  return "built " + gpu_libraries_built() + (found.empty() ? "" : "; found " + found);
}

}  // namespace tandem::comm
