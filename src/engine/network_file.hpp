// The TorchScript file that --model names, and the copy of it that a run keeps. Throws
// MissingInputError, DataError, IoError.
#pragma once

#include <string>

namespace tandem::app {

// The copy's name in a run's folder `model`, and in metadata the name of such a network.
constexpr char kNetworkFile[] = "network.pt";

struct NetworkFile {
  std::string path;
  std::string bytes;   // empty: the network is one of tandem's own
  std::string sha256;  // likewise
};

// Verified by the digest, unless that is empty.
NetworkFile read_network_file(const std::string& path, const std::string& expected_sha256 = "");

// The warning to print before the file is run: TorchScript is code with the user's permissions.
std::string code_notice(const NetworkFile& file);

// The run's copy, looked for around a model.safetensors or checkpoint of that run.
NetworkFile find_network_file(const std::string& model_path, const std::string& expected_sha256);

}  // namespace tandem::app
