// Writes TorchScript files for the tests of --model FILE.pt: script_files FOLDER
//   plain.pt    a network for the built-in data set
//   drops.pt    the same with BatchNorm and dropout
//   other.pt    as drops.pt with other weights
//   seven.pt    for seven classes
#include <filesystem>
#include <iostream>

#include "support/script_modules.hpp"
#include "tandem/core/file.hpp"

namespace {

using namespace tandem::model;

void write(const std::filesystem::path& path, std::uint64_t seed, std::int64_t classes,
           ScriptNetOptions options) {
  torch::manual_seed(seed);
  tandem::write_file_atomically(path, bytes_of(script_net({3, 32, 32}, classes, options)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: script_files FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  write(folder / "plain.pt", 1, 10, {});
  write(folder / "drops.pt", 1, 10, {true, 0.3});
  write(folder / "other.pt", 2, 10, {true, 0.3});
  write(folder / "seven.pt", 1, 7, {});
}
