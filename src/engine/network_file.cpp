#include "network_file.hpp"

#include <filesystem>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::app {

NetworkFile read_network_file(const std::string& path, const std::string& expected_sha256) {
  NetworkFile file{path, read_file(path), ""};
  if (file.bytes.empty()) throw DataError(path + ": is empty, a TorchScript file was expected");
  file.sha256 = sha256_hex(file.bytes);
  if (!expected_sha256.empty() && file.sha256 != expected_sha256) {
    throw DataError(path + ": has the SHA-256 " + file.sha256 + ", the run was trained with " +
                    expected_sha256 + "; bring back the file with which it was started");
  }
  return file;
}

std::string code_notice(const NetworkFile& file) {
  return file.path + ": TorchScript is code and runs with your rights; this file's SHA-256 is " +
         file.sha256;
}

NetworkFile find_network_file(const std::string& model_path, const std::string& expected_sha256) {
  namespace fs = std::filesystem;
  // Beside model.safetensors; of checkpoints/step-N.safetensors and superseded-N/step-N.safetensors
  // in the folder next to theirs.
  const fs::path folder = fs::path(model_path).parent_path();
  for (const fs::path& place : {folder, folder / "../model", folder / "../../model"}) {
    const std::string path = (place / kNetworkFile).lexically_normal();
    if (file_exists(path)) return read_network_file(path, expected_sha256);
  }
  throw MissingInputError(model_path + ": its network is not there; put the run's model/" +
                          kNetworkFile + ", with the SHA-256 " + expected_sha256 + ", beside it");
}

}  // namespace tandem::app
