#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"

namespace tandem {
namespace {

// The PID of a process that has ended.
std::string dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return std::to_string(child);
}

TEST(AtomicFile, RemovesWhatKilledProcessesOfThisPidNamespaceLeftOfItsName) {
  const testing::TempDir folder;
  const std::string host = kernel_host_name();
  struct stat space {};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &space), 0);
  const std::string here = host + "." + std::to_string(space.st_ino);
  const std::string dead = dead_process();
  const auto left_by = [&](const std::string& maker) { return folder / (".out.h5.tmp." + maker); };
  for (const std::string& maker : {here + "." + dead, here + "." + dead + ".7"}) {
    write_file_atomically(left_by(maker), "half");
  }
  const std::string kept[] = {left_by(here + "." + std::to_string(::getppid())),
                              left_by("not-" + here + "." + dead), left_by("keep"),
                              left_by(host + "." + std::to_string(space.st_ino + 1) + "." + dead),
                              folder / (".other.h5.tmp." + here + "." + dead)};
  for (const std::string& path : kept) write_file_atomically(path, "half");
  write_file_atomically(folder / "out.h5", "whole");
  EXPECT_FALSE(file_exists(left_by(here + "." + dead)));
  EXPECT_FALSE(file_exists(left_by(here + "." + dead + ".7")));
  for (const std::string& path : kept) EXPECT_TRUE(file_exists(path)) << path;
}

}  // namespace
}  // namespace tandem
