#include "hdf5_handle.hpp"

namespace tandem::data {

Hdf5Silence::Hdf5Silence() : print_(nullptr), data_(nullptr) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Silence::~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

std::string hdf5_reason() {
  std::string reason = "no reason given";
  const auto keep = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 1;  // the first of an upward walk is the innermost
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep, &reason);
  // A failed system call comes with addresses and sizes; only what strerror says is for people.
  const std::string mark = "error message = '";
  const std::size_t begin = reason.find(mark);
  if (begin == std::string::npos) return reason;
  const std::size_t text = begin + mark.size();
  return reason.substr(text, reason.find('\'', text) - text);
}

}  // namespace tandem::data
