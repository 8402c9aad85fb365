#include "tandem/data/picture_batches.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "support/failing_calls.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

using testing::TempDir;
using testing::write_bytes;

constexpr ImageShape kPictureShape{1, 5, 7};  // of the golden gray.png

class PictureBatchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Json golden = testing::read_golden("pictures.json");
    const auto hex = golden.at("files").at(0).at("hex").get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    write_bytes(good_, bytes);
    write_bytes(broken_, bytes.substr(0, 40));
  }
  // `files`, one after the other.
  static NextFile list(std::vector<std::string> files) {
    return [files, at = std::size_t{0}]() mutable -> std::optional<std::string> {
      if (at == files.size()) return std::nullopt;
      return files[at++];
    };
  }
  static PictureBatches batches(const NextFile& next, std::size_t size, int threads) {
    return PictureBatches(next, kPictureShape,
                          Transform(kPictureShape, Layout::kPlanar, {0.5}, {0.25}), size, threads);
  }

  TempDir folder_;
  std::string good_ = folder_ / "good.png";
  std::string broken_ = folder_ / "broken.png";
};

TEST_F(PictureBatchesTest, FilesComeInTheirOrderAndNormalized) {
  for (const int threads : {1, 3}) {
    std::vector<std::string> files(10, good_);
    files[6] = broken_;
    files[9] = folder_ / "absent.png";
    PictureBatches all = batches(list(files), 4, threads);
    std::size_t seen = 0;
    std::vector<std::size_t> sizes;
    while (const auto batch = all.next()) {
      sizes.push_back(batch->size());
      for (std::size_t i = 0; i < batch->size(); ++i, ++seen) {
        EXPECT_EQ(batch->files[i], files[seen]);
        EXPECT_EQ(batch->faults[i].has_value(), seen == 6 || seen == 9) << seen;
        // The second pixel has the value 37; the image of a broken file is all zeros.
        const float expected = batch->faults[i] ? 0.0F : (37.0F / 255 - 0.5F) / 0.25F;
        EXPECT_FLOAT_EQ(batch->images[i * kPictureShape.pixels() + 1], expected) << seen;
      }
      if (sizes.size() == 2) {
        EXPECT_EQ(batch->faults[2]->code, ExitCode::kBadData);
        EXPECT_NE(batch->faults[2]->message.find("broken.png"), std::string::npos);
      }
      if (sizes.size() == 3) {
        EXPECT_EQ(batch->faults[1]->code, ExitCode::kMissingInput);
      }
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
    EXPECT_FALSE(all.next().has_value());
  }
}

TEST_F(PictureBatchesTest, AListThatIsAMultipleOfTheSizeEnds) {
  PictureBatches all = batches(list({good_, good_}), 2, 1);
  EXPECT_TRUE(all.next().has_value());
  EXPECT_FALSE(all.next().has_value());
  EXPECT_FALSE(all.next().has_value());
  PictureBatches none = batches(list({}), 2, 1);
  EXPECT_FALSE(none.next().has_value());
}

TEST_F(PictureBatchesTest, WhatTheListThrowsComesOutOfNext) {
  PictureBatches all =
      batches([]() -> std::optional<std::string> { throw std::runtime_error("the list"); }, 2, 1);
  EXPECT_THROW(all.next(), std::runtime_error);
}

TEST_F(PictureBatchesTest, FilesBeforeAFaultOfTheListAreGiven) {
  int given = 0;
  PictureBatches all = batches(
      [&]() -> std::optional<std::string> {
        if (given++ == 2) throw std::runtime_error("the list");
        return good_;
      },
      4, 1);
  const auto batch = all.next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->size(), 2U);
  EXPECT_THROW(all.next(), std::runtime_error);
  EXPECT_FALSE(all.next().has_value());
}

TEST_F(PictureBatchesTest, AClaimIsAFaultOfItsFileOnly) {
  const std::string huge = folder_ / "huge.png";
  write_bytes(huge, testing::png_claiming(8192, 8192));
  const auto batch = batches(list({huge, good_, huge}), 4, 2).next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->faults[0]->code, ExitCode::kBadData);
  EXPECT_FALSE(batch->faults[1].has_value());
}

// Not even the names of a whole batch are waited for.
TEST_F(PictureBatchesTest, GivingUpEndsALongList) {
  constexpr std::size_t kMany = std::size_t{1} << 20;
  std::size_t asked = 0;
  {
    PictureBatches all = batches(
        [&] {
          ++asked;
          return std::optional<std::string>(good_);
        },
        kMany, 1);
  }
  EXPECT_LT(asked, kMany);
}

TEST_F(PictureBatchesTest, MayBeGivenUpAtAnyTime) {
  for (int taken = 0; taken < 3; ++taken) {
    PictureBatches all = batches([this] { return std::optional<std::string>(good_); }, 3, 2);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(all.next().has_value());
  }
}

TEST(FolderFiles, AreSortedWithoutHiddenOnesAndFollowLinks) {
  TempDir folder;
  for (const char* name : {"b/2.png", "b/.hidden.png", ".git/x.png", "a.png", "b/c/1.png"}) {
    write_bytes(folder / name, "x");
  }
  std::filesystem::create_directory_symlink(folder / "b", folder / "link");
  std::filesystem::create_symlink("nowhere", folder / "z.png");
  std::filesystem::create_symlink("self.png", folder / "self.png");
  std::filesystem::create_symlink("b/2.png", folder / "closed.png");
  const std::vector<std::string> expected{
      folder / "a.png",      folder / "b/2.png",      folder / "b/c/1.png", folder / "closed.png",
      folder / "link/2.png", folder / "link/c/1.png", folder / "self.png",  folder / "z.png"};
  EXPECT_EQ(files_below(folder.path()), expected);
  {
    const testing::FailingCalls no_permission("stat", "closed.png", EACCES);
    EXPECT_EQ(files_below(folder.path()), expected);
  }
  testing::expect_error(ExitCode::kMissingInput, {"absent"},
                        [&] { files_below(folder / "absent"); });
  std::filesystem::create_directory_symlink(folder.path(), folder / "b/again");
  testing::expect_error(ExitCode::kIo, {"again"}, [&] { files_below(folder.path()); });
}

}  // namespace
}  // namespace tandem::data
