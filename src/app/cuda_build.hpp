// What: whether this program was built to use GPUs. In a file of its own, so that a test can build
// a program of another answer.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

namespace tandem::app {

// The oldest version of CUDA that a driver must know for it, as CUDA counts (13000 is 13.0);
// 0: built without CUDA.
int cuda_of_build();

}  // namespace tandem::app
