// One GPU through NVIDIA's management library, which is opened at run time. The few functions used
// are declared here, so no header of NVIDIA is needed. One thread at a time. Does not throw;
// without a driver there is no Nvml, and values that a GPU does not report are absent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tandem::metrics {

struct GpuReading {
  std::optional<double> busy_percent;
  std::optional<std::uint64_t> memory_bytes;  // in use, by all processes
  std::optional<double> watts;
  std::optional<double> celsius;
};

class Nvml {
 public:
  // The GPU with this PCI bus id, in CUDA's form ("0000:65:00.0"). Absent without such a library or
  // GPU; `why`, unless null, receives the reason. `library` is found as dlopen() finds it,
  // LD_LIBRARY_PATH included.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id,
                                    const char* library = "libnvidia-ml.so.1",
                                    std::string* why = nullptr);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  GpuReading read() const;

 private:
  using Code = int;  // nvmlReturn_t; 0 is success
  using Device = void*;
  struct Utilization {
    unsigned int gpu = 0;
    unsigned int memory = 0;
  };
  struct Memory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
  };

  Nvml() = default;
  template <typename Function>
  void find(Function*& function, const char* name);

  void* library_ = nullptr;
  bool is_started_ = false;
  Device device_ = nullptr;
  Code (*start_)() = nullptr;
  Code (*stop_)() = nullptr;
  Code (*device_by_bus_id_)(const char*, Device*) = nullptr;
  Code (*utilization_)(Device, Utilization*) = nullptr;
  Code (*memory_)(Device, Memory*) = nullptr;
  Code (*power_)(Device, unsigned int*) = nullptr;
  Code (*temperature_)(Device, int, unsigned int*) = nullptr;
};

}  // namespace tandem::metrics
