// A libnvidia-ml of our own, with one GPU whose power nobody may read.
#include <cstring>

namespace {
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
int gpu;
int starts = 0;
}  // namespace

extern "C" {

int nvmlInit_v2() {
  ++starts;
  return 0;
}
int nvmlShutdown() {
  --starts;
  return 0;
}
int fake_nvml_starts() { return starts; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  if (std::strcmp(id, "0000:65:00.0") != 0) return kInvalidArgument;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned int* busy) {
  if (device != &gpu) return kInvalidArgument;
  busy[0] = 87;
  busy[1] = 12;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 80'000'000'000;
  total_free_used[1] = 60'000'000'000;
  total_free_used[2] = 20'000'000'000;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned int*) { return kNotSupported; }
int nvmlDeviceGetTemperature(void*, int sensor, unsigned int* celsius) {
  *celsius = sensor == 0 ? 45 : 0;
  return 0;
}

}  // extern "C"
