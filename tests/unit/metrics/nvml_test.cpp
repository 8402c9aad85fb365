#include "nvml.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace tandem::metrics {
namespace {

TEST(Nvml, ReadsWhatTheDriverTells) {
  const auto nvml = Nvml::open("0000:65:00.0", TANDEM_FAKE_NVML);
  ASSERT_NE(nvml, nullptr) << dlerror();
  const GpuReading reading = nvml->read();
  EXPECT_EQ(reading.busy_percent, 87);
  EXPECT_EQ(reading.memory_bytes, 20'000'000'000U);
  EXPECT_EQ(reading.celsius, 45);
  EXPECT_EQ(reading.watts, std::nullopt) << "what is not supported is absent";
}

TEST(Nvml, IsAbsentWithoutDriverOrGpu) {
  EXPECT_EQ(Nvml::open("0000:65:00.0", "libnvidia-ml-that-is-not-there.so.1"), nullptr);
  EXPECT_EQ(Nvml::open("0000:66:00.0", TANDEM_FAKE_NVML), nullptr);
  EXPECT_EQ(Nvml::open("0000:65:00.0", "libc.so.6"), nullptr) << "a library without the functions";
}

TEST(Nvml, SaysWhyItIsAbsent) {
  const auto why = [](const std::string& bus_id, const char* library) {
    std::string reason;
    EXPECT_EQ(Nvml::open(bus_id, library, &reason), nullptr);
    return reason;
  };
  EXPECT_NE(why("0000:65:00.0", "libabsent.so.1").find("libabsent.so.1: cannot open"),
            std::string::npos);
  EXPECT_EQ(why("0000:65:00.0", "libc.so.6"), "libc.so.6 lacks functions that every driver has");
  EXPECT_EQ(why("0000:66:00.0", TANDEM_FAKE_NVML).find("it lists no GPU 0000:66:00.0 (answer "),
            0U);
}

TEST(Nvml, EndsWhatItStarted) {
  void* library = dlopen(TANDEM_FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto starts = reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_starts"));
  Nvml::open("0000:66:00.0", TANDEM_FAKE_NVML);
  EXPECT_EQ(starts(), 0);
  {
    const auto nvml = Nvml::open("0000:65:00.0", TANDEM_FAKE_NVML);
    EXPECT_EQ(starts(), 1);
  }
  EXPECT_EQ(starts(), 0);
  dlclose(library);
}

}  // namespace
}  // namespace tandem::metrics
