// HDF5 identifiers that close themselves, and the library's reason for an error (hdf5_reason()).
// Does not throw. Threads as in the library.
#pragma once

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <string>
#include <utility>

namespace tandem::data {

class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() { reset(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  // Negative where closing failed, which for a file means that data were not written.
  herr_t reset() { return id_ < 0 ? 0 : close_(std::exchange(id_, H5I_INVALID_HID)); }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// While it lives, the library keeps its errors to itself on this thread instead of printing them.
class Hdf5Silence {
 public:
  Hdf5Silence();
  ~Hdf5Silence();
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;

 private:
  H5E_auto2_t print_;
  void* data_;
};

// The innermost message of the library's last error: "file signature not found".
std::string hdf5_reason();

// A driver class without functions, for every version of HDF5: 1.13 moved the declarations and
// added two fields. `value`: unique, from the 256 to 511 that HDF5 reserves for private use.
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
