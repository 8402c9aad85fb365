#include "tandem/metrics/superseded.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::metrics {
namespace {

using testing::TempDir;

TEST(Superseded, MakesNothingWhereNothingIsMoved) {
  const TempDir run;
  { const Superseded aside(run / "checkpoints"); }
  EXPECT_FALSE(is_folder(run / "checkpoints"));
}

TEST(Superseded, MovesFilesAndWhatFoldersHoldIntoOneFolderOfTheStart) {
  const TempDir run;
  std::filesystem::create_directories(run / "model/more");
  write_file_atomically(run / "evaluation.json", "{}");
  write_file_atomically(run / "model/a", "a");
  write_file_atomically(run / "model/more/b", "b");
  Superseded aside(run / "checkpoints");
  aside.move(run / "evaluation.json", "evaluation.json");
  aside.move(run / "model", "model");
  EXPECT_EQ(read_file(run / "checkpoints/superseded-1/evaluation.json"), "{}");
  EXPECT_EQ(read_file(run / "checkpoints/superseded-1/model/a"), "a");
  EXPECT_EQ(read_file(run / "checkpoints/superseded-1/model/more/b"), "b");
  EXPECT_FALSE(file_exists(run / "evaluation.json"));
  EXPECT_TRUE(is_folder(run / "model")) << "the run needs the folder again";
  EXPECT_FALSE(file_exists(run / "model/a"));
}

TEST(Superseded, EachStartHasAFolderOfItsOwn) {
  const TempDir run;
  std::filesystem::create_directories(run / "checkpoints/superseded-1");
  Superseded aside(run / "checkpoints");
  EXPECT_EQ(aside.place_of("ranks/rank-0000.jsonl"),
            run / "checkpoints/superseded-2/ranks/rank-0000.jsonl");
  EXPECT_TRUE(is_folder(run / "checkpoints/superseded-2/ranks"));
  EXPECT_EQ(aside.place_of("metrics.jsonl"), run / "checkpoints/superseded-2/metrics.jsonl");
}

TEST(Superseded, TheFolderIsDurableBeforeAnythingIsMovedThere) {
  const TempDir run;
  write_file_atomically(run / "one", "1");
  const testing::NotedCalls calls;
  Superseded(run / "checkpoints").move(run / "one", "one");
  const int made = calls.first("mkdir", "superseded-1");
  const int moved = calls.first("rename", "superseded-1/one");
  const int synced = calls.last("fsync", "checkpoints");
  EXPECT_LT(calls.first("mkdir", "checkpoints"), calls.first("fsync", run.path()));
  EXPECT_LT(made, moved);
  EXPECT_GT(synced, moved) << "the last one is that of superseded-1";
  // The sync of checkpoints/ itself comes in between.
  EXPECT_EQ(calls.first("fsync", "checkpoints"), made + 2);
}

TEST(Superseded, AFolderThatCannotBeMadeMovesNothing) {
  const TempDir run;
  write_file_atomically(run / "one", "1");
  const testing::FailingCalls calls("mkdir", "superseded", ENOSPC);
  Superseded aside(run / "checkpoints");
  EXPECT_THROW(aside.move(run / "one", "one"), IoError);
  EXPECT_TRUE(file_exists(run / "one"));
}

}  // namespace
}  // namespace tandem::metrics
