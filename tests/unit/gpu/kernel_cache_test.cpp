#include "gpu/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

namespace tandem::gpu {
namespace {

const std::string kContent(100000, 'k');

struct KernelCache : ::testing::Test {
  std::string get() {
    return cached(folder, "kernels", [this] {
      ++made;
      return kContent;
    });
  }
  testing::TempDir temporary;
  std::string folder = temporary.path() + "/a/tandem";
  int made = 0;
};

TEST_F(KernelCache, MakesAnEntryOnce) {
  EXPECT_EQ(get(), kContent);
  EXPECT_EQ(get(), kContent);
  EXPECT_EQ(made, 1);
}

TEST_F(KernelCache, MakesADamagedEntryAnew) {
  get();
  const std::string path = folder + "/kernels";
  std::string file = read_file(path);
  file[file.size() / 2] ^= 1;
  write_file_atomically(path, file);
  EXPECT_EQ(get(), kContent);
  EXPECT_EQ(made, 2);
  write_file_atomically(path, read_file(path).substr(0, 70));
  EXPECT_EQ(get(), kContent);
  write_file_atomically(path, "short");
  EXPECT_EQ(get(), kContent);
  EXPECT_EQ(made, 4);
  get();
  EXPECT_EQ(made, 4) << "the last entry is whole";
}

TEST_F(KernelCache, NeedsNoFolder) {
  for (const char* none : {"", "/proc/self/tandem", "/dev/null/tandem"}) {
    folder = none;
    EXPECT_EQ(get(), kContent);
  }
  EXPECT_EQ(made, 3);
}

TEST_F(KernelCache, LeavesNothingOfAFailure) {
  EXPECT_THROW(cached(folder, "kernels", []() -> std::string { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(get(), kContent);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(list_folder(folder).size(), 2U) << "the entry and its lock";
}

TEST_F(KernelCache, IsMadeByOneProcessWhileOthersWait) {
  constexpr int kProcesses = 4;
  const std::string log = temporary.path() + "/log";
  write_file_atomically(log, "");
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    const std::string content = cached(folder, "kernels", [&log] {
      ::usleep(20000);
      const std::string command = "echo made >> '" + log + "'";
      return std::system(command.c_str()) == 0 ? kContent : "";
    });
    ::_exit(content == kContent ? 0 : 1);
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = -1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_file(log), "made\n");
}

TEST(CacheFolder, FollowsTheEnvironment) {
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(cache_folder(), "/cache/tandem");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/one", 1);
  EXPECT_EQ(cache_folder(), "/home/one/.cache/tandem");
  ::unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
}

}  // namespace
}  // namespace tandem::gpu
