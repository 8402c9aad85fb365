// What HDF5's drivers have in common whatever its version: 1.13 moved their declarations and added
// two fields. Module-private. Any thread. Throws nothing.
#pragma once

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace tandem::data {

// A driver's class without functions. `value`: its own, of the 256 to 511 that HDF5 leaves to
// tests and own use.
inline H5FD_class_t make_driver_class(const char* name, [[maybe_unused]] int value) {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(value);
#endif
  driver.name = name;
  return driver;
}

}  // namespace tandem::data
