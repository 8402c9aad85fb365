#include "tandem/metrics/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::metrics {
namespace {

namespace fs = std::filesystem;

class OpenRunFolder : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(path_); }
  void write(const std::string& name) { write_file_atomically(path_ + "/" + name, "mine"); }
  void open() { RunFolder::open(folder_.path(), "a"); }

  const testing::TempDir folder_;
  const std::string path_ = folder_ / "a";
};

TEST_F(OpenRunFolder, LeavesSomebodysFolderAsItIs) {
  write("thesis.tex");
  write("manifest.json");  // as web pages have one
  write(".summary.json.tmp.node8.4711");
  fs::create_directories(path_ + "/checkpoints");
  EXPECT_THROW(open(), CannotCreateError);
  EXPECT_EQ(list_folder(path_).size(), 4U);
}

TEST_F(OpenRunFolder, TakesWhatIsEmptyOrARun) {
  EXPECT_NO_THROW(open());
  EXPECT_NO_THROW(open()) << "its run.lock says what it is";
  fs::remove(path_ + "/run.lock");
  EXPECT_NO_THROW(open()) << "it was killed while it was made";
  fs::remove(path_ + "/run.lock");
  write("thesis.tex");
  EXPECT_THROW(open(), CannotCreateError);
  write_file_atomically(path_ + "/manifest.json", R"({"run_id": "a"})");
  EXPECT_NO_THROW(open());
  fs::remove(path_ + "/run.lock");
  fs::remove(path_ + "/manifest.json");
  fs::remove(path_ + "/thesis.tex");
  fs::create_directories(path_ + "/checkpoints");
  EXPECT_NO_THROW(open()) << "a disk of their own";
  fs::remove(path_ + "/run.lock");
  write("thesis.tex");
  EXPECT_THROW(open(), CannotCreateError);
  write("checkpoints/model.safetensors");
  EXPECT_THROW(open(), CannotCreateError) << "another program's";
  write("checkpoints/step-00000004.safetensors");
  EXPECT_NO_THROW(open());
}

TEST_F(OpenRunFolder, SaysWhatIsInTheWayOfANewRun) {
  const auto expect_refusal = [this](const std::string& why) {
    try {
      RunFolder::require_free(folder_.path(), "a");
      ADD_FAILURE() << "not refused: " << why;
    } catch (const CannotCreateError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  {
    const testing::FailingCalls calls("stat", "/a", EACCES);
    expect_refusal("/a: cannot be created: Permission denied");
    EXPECT_THROW(RunFolder::exists(folder_.path(), "a"), CannotCreateError);
  }
  expect_refusal("exists already, without a run; start in it with --resume auto");
  write("thesis.tex");
  expect_refusal("is neither empty nor the folder of a run");
  fs::remove(path_ + "/thesis.tex");
  open();
  expect_refusal("holds a run already");
  fs::remove_all(path_);
  write_file_atomically(path_, "mine");
  expect_refusal("is neither empty nor the folder of a run");
}

TEST_F(OpenRunFolder, AStartThatFailsLaterLeavesNoEmptyFolders) {
  const std::string runs = folder_ / "deep/runs";
  RunFolder::require_free(runs, "b");
  EXPECT_FALSE(file_exists(folder_ / "deep"));
  fs::create_directories(folder_ / "deep");
  RunFolder::require_free(runs + "/", "b");
  EXPECT_TRUE(is_folder(folder_ / "deep")) << "it was there before";
  EXPECT_FALSE(file_exists(runs));
  { const RunFolder created = RunFolder::create(runs, "b"); }
  RunFolder::require_free(runs, "c");
  EXPECT_TRUE(is_folder(runs + "/b"));
  EXPECT_FALSE(file_exists(runs + "/c"));
}

TEST_F(OpenRunFolder, RemovesTheTemporaryFilesOfRunsAlone) {
  open();
  for (const char* left : {"/.summary.json.tmp.node8.4711", "/.config.ini.tmp.n.x.4711.1",
                           "/ranks/.rank-0000.jsonl.tmp.node8.4711"}) {
    write(left);
  }
  for (const char* somebodys : {"/.notes.tmp.keep", "/.notes.tmp.node8.4711", "/.tmp.node8.1"}) {
    write(somebodys);
  }
  open();
  EXPECT_FALSE(file_exists(path_ + "/.summary.json.tmp.node8.4711"));
  EXPECT_FALSE(file_exists(path_ + "/.config.ini.tmp.n.x.4711.1"));
  EXPECT_TRUE(list_folder(path_ + "/ranks").empty());
  EXPECT_TRUE(file_exists(path_ + "/.notes.tmp.keep"));
  EXPECT_TRUE(file_exists(path_ + "/.notes.tmp.node8.4711"));
  EXPECT_TRUE(file_exists(path_ + "/.tmp.node8.1"));
}

}  // namespace
}  // namespace tandem::metrics
