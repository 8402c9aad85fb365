// If the system refuses a call, the error names the file, and nothing is left half done.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem {
namespace {

using testing::FailingCalls;
using testing::TempDir;

// The message of the IoError that `step` ends with.
template <typename Step>
std::string fault_of(const Step& step) {
  try {
    step();
  } catch (const IoError& error) {
    return error.what();
  }
  return "no fault";
}

// Limits the size of files of this process.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  int ends[2] = {-1, -1};
};

// A folder without search permission, or a disk that fails, is no proof that a file is missing.
TEST(FileFaults, AFileThatCannotBeLookedAtIsNotMissing) {
  const TempDir folder;
  EXPECT_FALSE(file_exists(folder / "absent"));
  EXPECT_FALSE(file_exists(folder / "absent/below"));
  for (const int error : {EACCES, EIO, ESTALE}) {
    const FailingCalls calls("stat", folder / "one", error);
    EXPECT_THROW(file_exists(folder / "one"), IoError);
    EXPECT_THROW(is_folder(folder / "one"), IoError);
  }
}

TEST(FileFaults, AnOutputInAFolderThatMayNotBeSearchedCannotBeCreated) {
  const TempDir folder;
  const std::string path = folder / "out";
  EXPECT_FALSE(output_exists(path));
  {
    const FailingCalls calls("stat", path, EACCES);
    EXPECT_THROW(output_exists(path), CannotCreateError);
    EXPECT_THROW(AtomicFile file(path), CannotCreateError);
    EXPECT_NO_THROW(make_folders_durably(path)) << "mkdir() decides";
  }
  const FailingCalls calls("stat", path, EIO);
  EXPECT_THROW(output_exists(path), IoError) << "the disk has failed";
}

TEST(FileFaults, AppendWholeLeavesNoHalfARecord) {
  const TempDir folder;
  const std::string path = folder / "lines";
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600), path);
  file.append_whole("first\n");
  {
    const SizeLimit limit(10);
    EXPECT_EQ(fault_of([&] { file.append_whole("second\n"); }),
              path + ": writing 7 bytes failed: File too large");
  }
  EXPECT_EQ(read_file(path), "first\n");
  file.append_whole("third\n");
  EXPECT_EQ(read_file(path), "first\nthird\n");
}

TEST(FileFaults, WhatAPipeCannotDoIsNamed) {
  const Pipe pipe;
  File reading(pipe.ends[0], "in");
  File writing(pipe.ends[1], "out");
  EXPECT_EQ(fault_of([&] { writing.write_at(7, "x", 1); }),
            "out: seeking to 7 failed: Illegal seek");
  EXPECT_EQ(fault_of([&] { writing.cut(3); }),
            "out: cannot be truncated to 3 bytes: Invalid argument");
  EXPECT_EQ(fault_of([&] { writing.sync(); }), "out: fdatasync failed: Invalid argument");
  char byte = 0;
  EXPECT_EQ(fault_of([&] { reading.read_at(5, &byte, 1); }),
            "in: reading at offset 5 failed: Illegal seek");
}

TEST(FileFaults, AFileThatIsNotOpenIsNamed) {
  File file(-1, "gone");
  EXPECT_EQ(fault_of([&] { static_cast<void>(file.size()); }),
            "gone: fstat failed: Bad file descriptor");
  EXPECT_EQ(fault_of([&] { file.close(); }), "gone: close failed: Bad file descriptor");
}

TEST(FileFaults, WhatCannotBeOpenedIsMissingOrAFault) {
  const TempDir folder;
  write_file_atomically(folder / "file", "text");
  EXPECT_THROW(File::open_for_reading(folder / "file/below"), MissingInputError);
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_NE(fault_of([&] { File::open_for_reading(folder / "loop"); }).find("symbolic links"),
            std::string::npos);
}

TEST(FileFaults, AFolderThatCannotBeListedIsNoEmptyOne) {
  const TempDir folder;
  write_file_atomically(folder / "file", "text");
  EXPECT_TRUE(list_folder(folder / "absent").empty());
  EXPECT_EQ(fault_of([&] { list_folder(folder / "file"); }),
            (folder / "file") + ": cannot be listed: Not a directory; check the folder");
}

TEST(FileFaults, AnInterruptedCallIsMadeAgain) {
  const TempDir folder;
  AtomicFile file(folder / "file");
  {
    const FailingCalls calls("write", "file", EINTR, 3);
    file.write("text");
  }
  file.commit();
  const FailingCalls calls("read", "file", EINTR, 3);
  EXPECT_EQ(read_file(folder / "file"), "text");
}

// Errors of the disk come up in writeback, which only some file systems can be asked for.
TEST(FileFaults, ADiskThatRefusesWritebackIsNamed) {
  const TempDir folder;
  const std::string path = folder / "file";
  const std::vector<char> many(std::size_t{40} << 20, 'x');
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path);
  for (const int error : {ENOSYS, EINVAL, EOPNOTSUPP, ESPIPE}) {
    const FailingCalls calls("sync_file_range", "file", error);
    EXPECT_NO_THROW(file.write_through(many.data(), many.size()));
  }
  const FailingCalls calls("sync_file_range", "file", EIO);
  EXPECT_EQ(fault_of([&] { file.write_through(many.data(), many.size()); }),
            path + ": writing back to the disk failed: Input/output error");
}

TEST(FileFaults, ATemporaryFileThatCannotBeRemovedIsNamed) {
  const TempDir folder;
  const std::string left = folder / ".summary.json.tmp.elsewhere.7";
  write_file_atomically(left, "half");
  {
    const FailingCalls calls("unlink", ".summary", EIO);
    EXPECT_EQ(fault_of([&] { remove_temporaries(folder.path()); }),
              left + ": cannot be removed: Input/output error");
  }
  for (const char* other : {".tmp.7", "summary.json.tmp.host.7", ".summary.json.tmp.host.",
                            ".summary.json.tmp.host.1234567890", ".notes.txt.tmp.host.7"}) {
    write_file_atomically(folder / other, "somebody's");
  }
  remove_temporaries(folder.path());
  EXPECT_EQ(list_folder(folder.path()).size(), 5U);
}

TEST(FileFaults, WhatCannotTakeItsNameLeavesNothing) {
  const TempDir folder;
  {
    AtomicFile file(folder / "name");
    file.write("text");
    std::filesystem::create_directories(folder / "name/in-the-way");
    EXPECT_EQ(fault_of([&] { file.commit(); }),
              (folder / "name") + ": cannot be renamed into place: Is a directory");
  }
  EXPECT_EQ(list_folder(folder.path()), std::vector<std::string>{folder / "name"});
}

}  // namespace
}  // namespace tandem
