// Runs a fuzz target, compiled by any compiler, over the files of folders: its regressions, and the
// seeds of its fuzzer. What the target does not survive names the file and ends the program.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "target.hpp"

namespace {

constexpr int kMaxSeconds = 5;  // of computing; ctest ends what waits

void limit_memory() {
#ifndef TANDEM_SANITIZED                    // sanitizers map terabytes
  constexpr rlim_t kMax = rlim_t{1} << 29;  // half of a fuzzer's limit; these inputs are known
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kMax;
  const rlimit limits{limit, limit};
  ::setrlimit(RLIMIT_AS, &limits);
#endif
}

std::vector<std::filesystem::path> files_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<char> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** folders) {
  limit_memory();
  int done = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& path : files_in(folders[i])) {
      std::fprintf(stderr, "%s\n", path.c_str());
      const std::vector<char> content = content_of(path);
      const std::clock_t start = std::clock();
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
      if (std::clock() - start > kMaxSeconds * CLOCKS_PER_SEC) {
        std::fprintf(stderr, "took more than %d s\n", kMaxSeconds);
        return 1;
      }
      ++done;
    }
  }
  std::printf("%d inputs, no finding\n", done);
  return done > 0 ? 0 : 1;
}
