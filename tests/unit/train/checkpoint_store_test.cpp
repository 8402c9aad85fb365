#include "tandem/train/checkpoint_store.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/random.hpp"

namespace tandem::train {
namespace {

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
  void write(std::uint64_t step, bool is_best = false, CheckpointStore::Keep keep = {}) {
    Checkpoint checkpoint = checkpoint_of(step);
    checkpoint.is_best = is_best;
    store_.write(checkpoint, keep);
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

// As after a death between a checkpoint's own name and its second one.
TEST_F(CheckpointStoreTest, KnowsTheBestFromTheFilesAlone) {
  EXPECT_EQ(store_.best_accuracy(), std::nullopt);
  Checkpoint checkpoint = checkpoint_of(8);
  checkpoint.state.result.last_evaluation->accuracy = 0.75;
  checkpoint.is_best = true;
  store_.write(checkpoint, {});
  std::filesystem::remove(store_.best_path());
  EXPECT_EQ(store_.best_accuracy(), std::nullopt);
  store_.keep_if_best(read_checkpoint(store_.path_of(8)));
  EXPECT_EQ(store_.best_accuracy(), 0.75);
  write(12);
  store_.keep_if_best(read_checkpoint(store_.path_of(12)));
  EXPECT_EQ(store_.best_accuracy(), 0.75) << "another one took its place";
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

TEST_F(CheckpointStoreTest, SupersedesLaterOnes) {
  for (const std::uint64_t step : {1U, 2U, 3U}) write(step);
  EXPECT_EQ(store_.supersede_after(1), 2U);
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{1});
  EXPECT_EQ(store_.supersede_after(1), 0U);
  write(2);
  EXPECT_EQ(store_.supersede_after(1), 1U);
  EXPECT_TRUE(file_exists(folder_ / "checkpoints/superseded-2/step-00000002.safetensors"));
}

TEST_F(CheckpointStoreTest, SweepsWhatAKilledProcessLeft) {
  write(1);
  const std::string left = folder_ / "checkpoints/.step-00000002.safetensors.tmp.host.1";
  write_file_atomically(left, "half");
  store_.sweep();
  EXPECT_FALSE(file_exists(left));
  EXPECT_EQ(store_.steps(), std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace tandem::train
