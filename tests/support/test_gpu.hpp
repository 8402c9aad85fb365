// The GPU that a test of NCCL runs on: the stand-in's, or a real one; memory and work for it.
// Throws InternalError if a call fails.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gpu_api.hpp"
#include "tandem/core/span.hpp"

namespace tandem::testing {

// What the product does not call, but its tests do.
struct TestGpu {
  std::shared_ptr<const comm::GpuApi> api;
  cudaError_t (*allocate)(void**, std::size_t) = nullptr;
  cudaError_t (*free)(void*) = nullptr;
  cudaError_t (*copy)(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t) = nullptr;
  cudaError_t (*call_host)(cudaStream_t, cudaHostFn_t, void*) = nullptr;
  cudaError_t (*synchronize)(cudaStream_t) = nullptr;

  void check(cudaError_t code, const char* what) const { comm::check_cuda(*api, code, what); }
};

// The libraries of this machine.
TestGpu real_gpu();

template <typename T>
class GpuMemory {
 public:
  // Its copies are work on the legacy stream; the host waits for those from and to its memory.
  GpuMemory(const TestGpu& gpu, std::vector<T> values) : gpu_(gpu), values_(std::move(values)) {
    void* data = nullptr;
    gpu_.check(gpu_.allocate(&data, bytes() + 1), "cudaMalloc");
    data_ = static_cast<T*>(data);
    gpu_.check(gpu_.copy(data_, values_.data(), bytes(), cudaMemcpyDefault, nullptr), "cudaMemcpy");
    gpu_.check(gpu_.synchronize(nullptr), "cudaStreamSynchronize");
  }
  ~GpuMemory() { gpu_.free(data_); }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  Span<T> span() const { return Span<T>(data_, values_.size()); }
  void copy_from(const GpuMemory& other) {
    gpu_.check(gpu_.copy(data_, other.data_, bytes(), cudaMemcpyDefault, nullptr), "cudaMemcpy");
  }
  const std::vector<T>& read() {
    gpu_.check(gpu_.copy(values_.data(), data_, bytes(), cudaMemcpyDefault, nullptr), "cudaMemcpy");
    gpu_.check(gpu_.synchronize(nullptr), "cudaStreamSynchronize");
    return values_;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(T); }

  const TestGpu& gpu_;
  std::vector<T> values_;
  T* data_ = nullptr;
};

// Work on a stream, by default the legacy one, that takes until open() is called. Ends before its
// stream does.
class Gate {
 public:
  explicit Gate(const TestGpu& gpu, cudaStream_t stream = nullptr) : stream_(stream) {
    const auto wait = [](void* open) {
      while (!*static_cast<std::atomic<bool>*>(open)) std::this_thread::yield();
    };
    gpu.check(gpu.call_host(stream, wait, open_.get()), "cudaLaunchHostFunc");
    gpu_ = &gpu;
  }
  ~Gate() {
    open();
    gpu_->synchronize(stream_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { *open_ = true; }

 private:
  std::unique_ptr<std::atomic<bool>> open_ = std::make_unique<std::atomic<bool>>(false);
  const TestGpu* gpu_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace tandem::testing
