#include "fabric_search.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tandem::comm {
namespace {

constexpr const char* kLayers = "OMPI_MCA_pml";
constexpr const char* kNetworksOfCm = "OMPI_MCA_mtl";

// A folder has an entry for each device. An error counts as a device.
bool has_device(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return static_cast<bool>(error);
  const bool is_empty = std::filesystem::is_empty(path, error);
  return error || !is_empty;
}

bool has_network_of_cm(const std::string& root) {
  for (const char* path : {"/sys/class/infiniband", "/sys/class/hfi1", "/sys/class/ipath",
                           "/sys/class/cxi", "/sys/class/gni", "/sys/class/bxi"}) {
    if (has_device(root + path)) return true;
  }
  return false;
}

}  // namespace

FabricSearch::FabricSearch(const std::string& root)
    : is_skipped_(std::getenv(kLayers) == nullptr && std::getenv(kNetworksOfCm) == nullptr &&
                  !has_network_of_cm(root)) {
  if (is_skipped_) ::setenv(kLayers, "^cm", /*overwrite=*/0);
}

FabricSearch::~FabricSearch() {
  if (is_skipped_) ::unsetenv(kLayers);
}

}  // namespace tandem::comm
