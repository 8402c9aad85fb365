#include "tandem/train/checkpoint_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/random.hpp"

namespace tandem::train {
namespace {

namespace fs = std::filesystem;
using testing::FailingCalls;
using testing::NotedCalls;

Checkpoint checkpoint_of(std::uint64_t step) {
  Checkpoint checkpoint;
  checkpoint.tensors = {{"last.first", torch::ones({2}), false},  // not in the order of names
                        {"fc.weight", torch::full({3, 4}, static_cast<float>(step)), false},
                        {"optimizer.velocity.fc.weight", torch::ones({3, 4}), false}};
  checkpoint.metadata = {{"global_batch", "64"}};
  checkpoint.state.step = step;
  checkpoint.state.epoch_totals = {1.25, 7, 9, 8, ~std::uint64_t{0}};
  checkpoint.state.result.train_loss = 0.1;
  checkpoint.state.result.last_evaluation = Evaluation{};
  return checkpoint;
}

class CheckpointStoreTest : public ::testing::Test {
 protected:
  std::vector<std::string> write(std::uint64_t step, bool is_best = false, KeepRules keep = {}) {
    Checkpoint checkpoint = checkpoint_of(step);
    checkpoint.is_best = is_best;
    return store_.write(checkpoint, keep);
  }
  std::string in_folder(const std::string& name) { return folder_ / ("checkpoints/" + name); }
  std::string newest_path() { return fs::path(store_.newest_whole().path).filename(); }
  std::uint64_t step_in(const std::string& path) { return read_checkpoint(path).state.step; }
  void damage(const std::string& path) {
    std::string bytes = content(path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    fs::remove(path);  // another name of the file keeps its bytes
    overwrite(path, bytes);
  }
  void go_on_from(const std::string& path, std::uint64_t step) {
    metrics::Superseded aside(in_folder(""));
    store_.go_on_from(path, step, aside);
  }
  std::string content(const std::string& path) { return read_file(path); }
  // Without the waiting of a durable write.
  void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  testing::TempDir folder_;
  CheckpointStore store_{folder_ / "checkpoints"};
};

TEST_F(CheckpointStoreTest, ReadsBackWhatItWrites) {
  write(12);
  const Checkpoint read = read_checkpoint(store_.path_of(12));
  const Checkpoint written = checkpoint_of(12);
  ASSERT_EQ(read.tensors.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(read.tensors[i].tensor, written.tensors[i].tensor));
  }
  EXPECT_EQ(read.metadata, written.metadata);
  EXPECT_EQ(read.state.to_json(), written.state.to_json());
  EXPECT_EQ(content(folder_ / "checkpoints/latest"), "step-00000012.safetensors\n");
}

TEST_F(CheckpointStoreTest, AFileOfAnotherKindIsNoCheckpoint) {
  const auto refused = [&](const std::map<std::string, std::string>& metadata) {
    const std::string path = folder_ / "other.safetensors";
    model::write_safetensors(path, {}, metadata, {});
    EXPECT_FALSE(look_at_checkpoint(path).step);
    try {
      read_checkpoint(path);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("was read");
  };
  EXPECT_NE(refused({}).find("is not a checkpoint of tandem"), std::string::npos);
  EXPECT_NE(refused({{"format", "pt"}}).find("is not a checkpoint of tandem"), std::string::npos);
  EXPECT_NE(refused({{"format", "pt"}, {"state", "{}"}}).find("is not a checkpoint of tandem"),
            std::string::npos);
  EXPECT_NE(refused({{"format", kCheckpointFormat}}).find("is not a checkpoint of tandem"),
            std::string::npos);
  const std::string torn = refused({{"format", kCheckpointFormat}, {"state", "{\"step\":"}});
  EXPECT_EQ(torn.find("is not a checkpoint"), std::string::npos) << torn;
  EXPECT_NE(torn.find("other.safetensors: "), std::string::npos) << torn;
}

// As after a death between a checkpoint's own name and its second one.
TEST_F(CheckpointStoreTest, KnowsTheBestFromTheFilesAlone) {
  EXPECT_EQ(store_.best_accuracy(), std::nullopt);
  Checkpoint checkpoint = checkpoint_of(8);
  checkpoint.state.result.last_evaluation->accuracy = 0.75;
  checkpoint.is_best = true;
  store_.write(checkpoint, {});
  fs::remove(store_.best_path());
  EXPECT_EQ(store_.best_accuracy(), std::nullopt);
  write(12);
  go_on_from(store_.path_of(12), 12);
  EXPECT_EQ(store_.best_accuracy(), 0.75);
  EXPECT_EQ(step_in(store_.best_path()), 8U);
  checkpoint.state.result.last_validation = Evaluation{};
  checkpoint.state.result.last_validation->accuracy = 0.5;
  store_.write(checkpoint, {});
  EXPECT_EQ(store_.best_accuracy(), 0.5) << "where images are held out, they decide";
  damage(store_.best_path());
  EXPECT_EQ(store_.best_accuracy(), std::nullopt);
}

TEST_F(CheckpointStoreTest, KeepsTheNewestTheBestAndEveryNth) {
  for (const std::uint64_t step : {4U, 8U, 10U, 12U, 16U}) write(step, step == 8, {2, 10});
  EXPECT_EQ(store_.steps(), (std::vector<std::uint64_t>{16, 12, 10}));
  EXPECT_EQ(read_checkpoint(store_.best_path()).state.step, 8U);
}

TEST_F(CheckpointStoreTest, TakesOtherNamesForNothing) {
  write(3);
  for (const char* name : {"step-.safetensors", "step-5.safetensors.tmp", "step-x5.safetensors",
                           "best.safetensors", "step-5.pth"}) {
    write_file_atomically((folder_ / "checkpoints/") + name, "");
  }
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{3});
}

TEST_F(CheckpointStoreTest, EveryFlippedBitAndEveryTruncationIsRefused) {
  write(5);
  const std::string path = store_.path_of(5);
  const std::string whole = content(path);
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
    overwrite(path, damaged);
    EXPECT_THROW(read_checkpoint(path), DataError) << "byte " << byte;
    if (byte % 7 != 0) continue;
    overwrite(path, whole.substr(0, byte));
    EXPECT_THROW(read_checkpoint(path), DataError) << byte << " bytes";
  }
  overwrite(path, whole);
  EXPECT_NO_THROW(read_checkpoint(path));
}

TEST_F(CheckpointStoreTest, NamesTheDamagedTensor) {
  write(5);
  std::string damaged = content(store_.path_of(5));
  damaged.back() = static_cast<char>(damaged.back() ^ 1);  // of the last tensor's last value
  write_file_atomically(store_.path_of(5), damaged);
  try {
    read_checkpoint(store_.path_of(5));
    FAIL() << "a damaged checkpoint was read";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("'optimizer.velocity.fc.weight' is damaged"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(CheckpointStoreTest, NonFiniteValuesAreRefused) {
  Checkpoint checkpoint = checkpoint_of(5);
  checkpoint.tensors[1].tensor[1][2] = NAN;
  EXPECT_THROW(store_.write(checkpoint, {}), DataError);
  EXPECT_TRUE(store_.steps().empty()) << "what cannot be read back stays";
}

// Where the last step's update was left out, the loss that the test found may be anything.
TEST_F(CheckpointStoreTest, LossesThatAreNotFiniteAreKept) {
  Checkpoint checkpoint = checkpoint_of(5);
  checkpoint.state.result.train_loss = std::nan("");
  checkpoint.state.result.last_evaluation->loss = std::numeric_limits<double>::infinity();
  store_.write(checkpoint, {});
  const TrainingState read = read_checkpoint(store_.path_of(5)).state;
  EXPECT_FALSE(read.result.train_loss);
  EXPECT_FALSE(std::isfinite(read.result.last_evaluation->loss));
}

TEST_F(CheckpointStoreTest, ListsEveryCheckpointByTheStepWithinIt) {
  write(4);
  write(100, true);
  write(20);
  fs::copy_file(store_.path_of(4), in_folder("step-4.safetensors"));
  fs::rename(store_.path_of(20), in_folder("a-copy.safetensors"));
  overwrite(in_folder("step-60.safetensors"), "no header");
  overwrite(in_folder("other.safetensors"), "no header");
  overwrite(in_folder(".step-00000200.safetensors"), "hidden");
  std::vector<std::string> names;
  std::vector<std::uint64_t> steps;
  for (const CheckpointFile& file : store_.files()) {
    names.push_back(fs::path(file.path).filename());
    steps.push_back(file.step.value_or(0));
    EXPECT_EQ(file.is_best, steps.back() == 100) << names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000100.safetensors", "best.safetensors",
                                             "step-60.safetensors", "a-copy.safetensors",
                                             "step-00000004.safetensors", "step-4.safetensors",
                                             "other.safetensors"}));
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{100, 100, 60, 20, 4, 4, 0}));
  EXPECT_EQ(store_.steps(), (std::vector<std::uint64_t>{100, 4})) << "its own names alone";
}

TEST_F(CheckpointStoreTest, TheNewestWholeOneMayBeTheBest) {
  EXPECT_FALSE(store_.newest_whole().checkpoint);
  write(10, false);
  write(20, true);
  fs::remove(store_.path_of(20));
  write(30);
  EXPECT_EQ(newest_path(), "step-00000030.safetensors");
  damage(store_.path_of(30));
  const CheckpointStore::Newest newest = store_.newest_whole();
  EXPECT_EQ(newest.path, store_.best_path());
  EXPECT_EQ(newest.checkpoint->state.step, 20U);
  ASSERT_EQ(newest.refused.size(), 1U);
  EXPECT_NE(newest.refused[0].find("step-00000030"), std::string::npos);
  damage(store_.best_path());
  damage(store_.path_of(10));
  const CheckpointStore::Newest none = store_.newest_whole();
  EXPECT_FALSE(none.checkpoint);
  EXPECT_TRUE(none.path.empty());
  EXPECT_EQ(none.refused.size(), 3U);
}

// To take an older one would lose progress and move the newest aside.
TEST_F(CheckpointStoreTest, AReadThatFailsIsNoDamage) {
  write(10);
  write(20);
  for (const int error : {EIO, EACCES, ESTALE, EMFILE, ENFILE, ENOMEM}) {
    const FailingCalls calls("open", "step-00000020", error);
    EXPECT_THROW(store_.newest_whole(), IoError) << error;
  }
  const FailingCalls calls("read", "step-00000020", EIO);
  EXPECT_THROW(store_.newest_whole(), IoError);
}

TEST_F(CheckpointStoreTest, LooksAgainWhereAFileGoesAway) {
  write(10);
  write(20);
  for (const int times : {1, 2}) {
    const FailingCalls calls("open", "step-00000020", ENOENT, times);
    EXPECT_EQ(newest_path(), "step-00000020.safetensors") << times;
  }
  fs::create_symlink("gone", in_folder("step-00000030.safetensors"));
  EXPECT_THROW(store_.newest_whole(), IoError) << "it stays listed and may come back";
  EXPECT_THROW(store_.files(), IoError);
}

TEST_F(CheckpointStoreTest, KnowsWhetherCheckpointsWereMovedAside) {
  EXPECT_FALSE(store_.has_superseded());
  write(10);
  EXPECT_FALSE(store_.has_superseded());
  fs::create_directories(in_folder("superseded-1/model"));
  overwrite(in_folder("superseded-1/metrics.jsonl"), "");
  overwrite(in_folder("superseded-1/model/model.safetensors"), "");
  overwrite(in_folder("superseded-file.safetensors"), "");
  EXPECT_FALSE(store_.has_superseded()) << "metrics and a model are no checkpoints";
  fs::create_directories(in_folder("superseded-2"));
  fs::rename(store_.path_of(10), in_folder("superseded-2/step-00000010.safetensors"));
  EXPECT_TRUE(store_.has_superseded());
}

TEST_F(CheckpointStoreTest, LaterOnesMoveAside) {
  for (const std::uint64_t step : {1U, 2U, 3U}) write(step);
  go_on_from(store_.path_of(1), 1);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{1});
  EXPECT_EQ(content(in_folder("latest")), "step-00000001.safetensors\n");
  go_on_from(store_.path_of(1), 1);
  EXPECT_FALSE(is_folder(in_folder("superseded-2"))) << "nothing was left to move";
  write(2);
  go_on_from(store_.path_of(1), 1);
  EXPECT_TRUE(file_exists(in_folder("superseded-1/step-00000003.safetensors")));
  EXPECT_TRUE(file_exists(in_folder("superseded-2/step-00000002.safetensors")));
}

TEST_F(CheckpointStoreTest, WhatTheRunGoesOnFromHasANameBeforeAnythingMoves) {
  write(20, true);
  fs::remove(store_.path_of(20));  // rotated away
  write(30);
  {
    const FailingCalls calls("rename", "superseded-1/step-00000030", EIO);
    EXPECT_THROW(go_on_from(store_.best_path(), 20), IoError);
  }
  EXPECT_EQ(step_in(store_.path_of(20)), 20U);
  EXPECT_TRUE(file_exists(store_.path_of(30)));
  fs::remove(store_.path_of(20));
  const NotedCalls calls;
  go_on_from(store_.best_path(), 20);
  const int named = calls.first("rename", "step-00000020");
  ASSERT_GE(named, 0);
  EXPECT_LT(named, calls.first("rename", "step-00000030"));
  EXPECT_EQ(newest_path(), "step-00000020.safetensors");
  EXPECT_TRUE(fs::equivalent(store_.best_path(), store_.path_of(20)));
}

TEST_F(CheckpointStoreTest, WhateverEndsItNothingIsLost) {
  // Fails at each of its calls in turn; the run can resume from what is left, and no state is lost.
  for (const char* call : {"link", "rename", "mkdir", "unlink", "fsync"}) {
    for (int number = 0;; ++number) {
      fs::remove_all(in_folder(""));
      CheckpointStore store(folder_ / "checkpoints");
      const auto write = [&store](std::uint64_t step, bool is_best) {
        Checkpoint checkpoint = checkpoint_of(step);
        checkpoint.is_best = is_best;
        store.write(checkpoint, {5, 0});
      };
      write(10, true);
      fs::remove(store.path_of(10));
      write(20, false);
      write(30, false);
      bool failed = false;
      {
        const testing::FailOnce calls(call, "checkpoints", EIO, number);
        metrics::Superseded aside(folder_ / "checkpoints");
        try {
          store.go_on_from(store.best_path(), 10, aside);
        } catch (const Error&) {
          failed = true;
        }
      }
      std::vector<std::uint64_t> found;
      for (const auto& entry : fs::recursive_directory_iterator(in_folder(""))) {
        if (entry.path().extension() == ".safetensors") found.push_back(step_in(entry.path()));
      }
      for (const std::uint64_t step : {10U, 20U, 30U}) {
        EXPECT_NE(std::find(found.begin(), found.end(), step), found.end())
            << call << " " << number << " lost " << step;
      }
      EXPECT_TRUE(store.newest_whole().checkpoint) << call << " " << number;
      EXPECT_EQ(step_in(store.best_path()), 10U) << call << " " << number;
      if (!failed) break;
      ASSERT_LT(number, 50);
    }
  }
}

TEST_F(CheckpointStoreTest, AnOlderOneThatOnceWasTheBestDestroysNoLaterBest) {
  write(10, true, {5, 0});
  write(20, true, {5, 0});
  fs::remove(store_.path_of(20));
  write(30, false, {5, 0});
  go_on_from(store_.path_of(10), 10);
  EXPECT_EQ(step_in(in_folder("superseded-1/best.safetensors")), 20U);
  EXPECT_EQ(step_in(store_.best_path()), 10U);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{10});
}

TEST_F(CheckpointStoreTest, ADamagedBestOrNameMakesWay) {
  write(10, true, {5, 0});
  write(20, true, {5, 0});
  write(30, false, {5, 0});
  damage(store_.best_path());
  go_on_from(store_.path_of(30), 30);
  EXPECT_EQ(step_in(store_.best_path()), 20U) << "the last one that was the best";
  EXPECT_TRUE(file_exists(in_folder("superseded-1/best.safetensors")));

  damage(store_.path_of(20));
  fs::remove(store_.path_of(30));
  go_on_from(store_.best_path(), 20);
  EXPECT_EQ(step_in(store_.path_of(20)), 20U);
  EXPECT_TRUE(file_exists(in_folder("superseded-2/step-00000020.safetensors")));

  fs::remove(store_.best_path());
  damage(store_.path_of(20));
  write(30, false, {5, 0});
  go_on_from(store_.path_of(30), 30);
  EXPECT_EQ(step_in(store_.best_path()), 10U) << "of two that were, the whole one";
}

TEST_F(CheckpointStoreTest, ANameThatPromisesALaterStepMovesAsideToo) {
  write(10);
  fs::rename(store_.path_of(10), in_folder("step-00000099.safetensors"));
  go_on_from(in_folder("step-00000099.safetensors"), 10);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{10});
  EXPECT_TRUE(file_exists(in_folder("superseded-1/step-00000099.safetensors")));
}

TEST_F(CheckpointStoreTest, ASecondNameOfAStepDoesNotStopRotation) {
  write(4);
  fs::copy_file(store_.path_of(4), in_folder("step-4.safetensors"));
  for (const std::uint64_t step : {6U, 8U}) {
    EXPECT_EQ(write(step, false, {1, 0}), std::vector<std::string>{});
  }
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{8});
  EXPECT_TRUE(file_exists(in_folder("step-4.safetensors"))) << "a name that is not the run's";
}

TEST_F(CheckpointStoreTest, RotationNeverTakesWhatWasJustWritten) {
  write(99);
  EXPECT_EQ(write(10, false, {1, 0}), std::vector<std::string>{});
  EXPECT_EQ(store_.steps(), (std::vector<std::uint64_t>{99, 10}));
}

TEST_F(CheckpointStoreTest, ARotatedOneThatIsGoneAlreadyIsNoFault) {
  write(10);
  {
    const FailingCalls calls("unlink", "step-00000010", ENOENT);
    EXPECT_EQ(write(20, false, {1, 0}), std::vector<std::string>{});
    EXPECT_EQ(calls.count(), 1);
  }
  const FailingCalls calls("unlink", "step-00000010", EIO);
  const std::vector<std::string> failures = write(30, false, {2, 0});
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].find("step-00000010"), std::string::npos);
  EXPECT_EQ(newest_path(), "step-00000030.safetensors");
}

TEST_F(CheckpointStoreTest, ABestThatCannotBeNamedIsKeptAndNamedLater) {
  write(10);
  {
    const FailingCalls calls("link", "best", EIO);
    EXPECT_EQ(write(20, true, {1, 0}).size(), 1U);
    EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{20}) << "rotation goes on";
    EXPECT_EQ(write(30, false, {1, 0}).size(), 1U);
    EXPECT_EQ(store_.steps(), (std::vector<std::uint64_t>{30, 20})) << "it is the best still";
    EXPECT_FALSE(file_exists(store_.best_path()));
  }
  EXPECT_EQ(write(40, false, {1, 0}), std::vector<std::string>{});
  EXPECT_EQ(step_in(store_.best_path()), 20U);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{40});
}

TEST_F(CheckpointStoreTest, WithoutHardLinksTheBestIsACopy) {
  const FailingCalls calls("link", "best", EPERM);
  EXPECT_EQ(write(10, true, {1, 0}), std::vector<std::string>{});
  EXPECT_EQ(write(20, false, {1, 0}), std::vector<std::string>{});
  EXPECT_EQ(step_in(store_.best_path()), 10U);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{20});
}

TEST_F(CheckpointStoreTest, LatestIsTriedAgainOnceThereIsRoom) {
  write(10);
  {
    const FailingCalls calls("rename", "latest", ENOSPC, 1);
    EXPECT_EQ(write(20, false, {1, 0}), std::vector<std::string>{});
    EXPECT_EQ(calls.count(), 1);
  }
  EXPECT_EQ(content(in_folder("latest")), "step-00000020.safetensors\n");
  const FailingCalls calls("rename", "latest", ENOSPC);
  const std::vector<std::string> failures = write(30, false, {1, 0});
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].find("latest"), std::string::npos);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{30}) << "rotation goes on";
}

TEST_F(CheckpointStoreTest, AFailureLeavesTheOneThatHadTheName) {
  write(10);
  const std::string before = content(store_.path_of(10));
  Checkpoint other = checkpoint_of(10);
  other.metadata["global_batch"] = "65";
  for (const char* call : {"open", "read", "fdatasync", "fsync", "rename", "close"}) {
    const FailingCalls calls(call, "step-00000010", EIO, 1);
    EXPECT_THROW(store_.write(other, {}), Error) << call;
    EXPECT_EQ(calls.count(), 1) << call;
    EXPECT_EQ(content(store_.path_of(10)), before) << call;
    EXPECT_EQ(store_.files().size(), 1U) << call;
  }
  const NotedCalls calls;
  store_.write(other, {});
  const int synced = calls.first("fdatasync", ".step-00000010");
  const int read = calls.last("read", ".step-00000010");
  ASSERT_GE(synced, 0);
  EXPECT_LT(synced, read) << "read back from the disk";
  EXPECT_LT(read, calls.first("rename", "step-00000010"));
}

TEST_F(CheckpointStoreTest, TheFolderIsMadeDurably) {
  const NotedCalls calls;
  write(1);
  EXPECT_LT(calls.first("mkdir", "/checkpoints"), calls.first("fsync", folder_.path()));
  EXPECT_LT(calls.first("fsync", folder_.path()), calls.first("open", ".step"));
}

TEST_F(CheckpointStoreTest, SweepsWhatAKilledProcessLeft) {
  write(1);
  fs::create_directories(in_folder("superseded-1/ranks"));
  const std::string left[] = {in_folder(".step-00000002.safetensors.tmp.host.1"),
                              in_folder("superseded-1/.metrics.jsonl.tmp.host.1"),
                              in_folder("superseded-1/ranks/.rank-0000.jsonl.tmp.host.1")};
  for (const std::string& path : left) overwrite(path, "half");
  store_.sweep();
  for (const std::string& path : left) EXPECT_FALSE(file_exists(path)) << path;
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace tandem::train
