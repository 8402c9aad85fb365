// Writes TorchScript files for the tests of --model FILE.pt: script_files FOLDER
//   plain.pt    a network for the built-in data set
//   drops.pt    the same with BatchNorm and dropout
//   other.pt    as drops.pt with other weights
//   seven.pt    for seven classes
//   large.pt    as plain.pt, but fails if it evaluates more than 100 images at once
//   grows.pt    as plain.pt with a buffer, "big", that soon is no longer finite
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

// A module that wraps plain.pt, has one buffer, `buffer`, and runs these lines before the network.
void write_around(const std::filesystem::path& path, const char* buffer, const std::string& lines) {
  torch::manual_seed(1);
  torch::jit::Module outer = script_part("Outer", "", {}, {{buffer, torch::ones({1})}});
  outer.register_module("net", script_net({3, 32, 32}, 10, {}));
  outer.define("def forward(self, x):\n" + lines + "  return self.net.forward(x)\n");
  tandem::write_file_atomically(path, bytes_of(outer));
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
  write_around(folder / "large.pt", "unused",
               "  assert self.training or x.size(0) <= 100, \"no memory for so many images\"\n");
  write_around(folder / "grows.pt", "big",
               "  if self.training:\n"
               "    self.big = self.big * 1e20\n");
}
