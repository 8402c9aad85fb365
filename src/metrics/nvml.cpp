#include "nvml.hpp"

#include <dlfcn.h>

#include "tandem/metrics/system_sampler.hpp"

namespace tandem::metrics {
namespace {

constexpr int kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr double kMilliwatts = 1000;

}  // namespace

// An old driver may lack one.
template <typename Function>
void Nvml::find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library_, name));
}

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id, const char* library,
                                 std::string* why) {
  const auto refuse = [&](const std::string& reason) {
    if (why != nullptr) *why = reason;
    return std::unique_ptr<Nvml>();
  };
  std::unique_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) {
    const char* reason = ::dlerror();
    return refuse(reason != nullptr ? reason : std::string(library) + " cannot be loaded");
  }
  nvml->find(nvml->start_, "nvmlInit_v2");
  nvml->find(nvml->stop_, "nvmlShutdown");
  nvml->find(nvml->device_by_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
  nvml->find(nvml->utilization_, "nvmlDeviceGetUtilizationRates");
  nvml->find(nvml->memory_, "nvmlDeviceGetMemoryInfo");
  nvml->find(nvml->power_, "nvmlDeviceGetPowerUsage");
  nvml->find(nvml->temperature_, "nvmlDeviceGetTemperature");
  if (!nvml->start_ || !nvml->stop_ || !nvml->device_by_bus_id_) {
    return refuse(std::string(library) + " lacks functions that every driver has");
  }
  const Code started = nvml->start_();
  nvml->is_started_ = started == kSuccess;
  if (!nvml->is_started_) return refuse("nvmlInit answers " + std::to_string(started));
  const Code found = nvml->device_by_bus_id_(pci_bus_id.c_str(), &nvml->device_);
  if (found == kSuccess) return nvml;
  return refuse("it lists no GPU " + pci_bus_id + " (answer " + std::to_string(found) + ")");
}

Nvml::~Nvml() {
  if (is_started_) stop_();
  if (library_ != nullptr) ::dlclose(library_);
}

GpuReading Nvml::read() const {
  GpuReading reading;
  if (Utilization busy; utilization_ && utilization_(device_, &busy) == kSuccess) {
    reading.busy_percent = busy.gpu;
  }
  if (Memory memory; memory_ && memory_(device_, &memory) == kSuccess) {
    reading.memory_bytes = memory.used;
  }
  if (unsigned int power = 0; power_ && power_(device_, &power) == kSuccess) {
    reading.watts = power / kMilliwatts;
  }
  unsigned int celsius = 0;
  if (temperature_ && temperature_(device_, kTemperatureOfGpu, &celsius) == kSuccess) {
    reading.celsius = celsius;
  }
  return reading;
}

std::string why_gpu_is_silent(const std::string& pci_bus_id) {
  std::string why;
  Nvml::open(pci_bus_id, "libnvidia-ml.so.1", &why);
  return why;
}

}  // namespace tandem::metrics
