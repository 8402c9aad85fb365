#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/data/hold_out.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::png;
using testing::TempDir;
using testing::write_bytes;

class ImageFolderTest : public ::testing::Test {
 protected:
  // A picture of one color: 2 x 3 pixels.
  void write(const std::string& path, const std::string& color = "abc") {
    std::string values;
    for (int i = 0; i < 6; ++i) values += color;
    write_bytes(root_ + "/" + path, png(2, 3, static_cast<int>(color.size()), values));
  }
  void write_two_splits() {
    write("train/dog/1.png", "dog");
    write("train/cat/x/2.png", "cat");
    write("train/cat/1.png", "CAT");
    write("test/dog/1.png", "DOG");
  }
  std::unique_ptr<ImageSource> open(const ImageFolderOptions& options = {}) {
    return open_image_folder(root_, options);
  }
  static ImageFolderOptions split(double share, std::uint64_t seed = 0) {
    ImageFolderOptions options;
    options.test_split = share;
    options.seed = seed;
    return options;
  }
  // The first value of each image, which tells the pictures apart, and the labels.
  static std::string first_values(const ImageSource& source, Split split,
                                  std::vector<Label>& labels) {
    const std::uint64_t count = source.info().count(split);
    std::vector<std::uint8_t> images(count * source.info().shape.pixels());
    labels.resize(count);
    source.read(split, 0, count, images.data(), labels.data());
    std::string values;
    for (std::size_t i = 0; i < count; ++i) {
      values += static_cast<char>(images[i * source.info().shape.pixels()]);
    }
    return values;
  }

  TempDir folder_;
  std::string root_ = folder_ / "pets";
};

TEST_F(ImageFolderTest, FoldersAreClasses) {
  write_two_splits();
  EXPECT_TRUE(looks_like_image_folder(root_));
  const auto source = open();
  const DatasetInfo& info = source->info();
  EXPECT_EQ(info.name, "pets");
  EXPECT_EQ(info.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(info.shape, (ImageShape{3, 2, 3}));
  std::vector<Label> labels;
  EXPECT_EQ(first_values(*source, Split::kTrain, labels), "Ccd");
  EXPECT_EQ(labels, (std::vector<Label>{0, 0, 1}));
  EXPECT_EQ(first_values(*source, Split::kTest, labels), "D");
  EXPECT_EQ(labels, std::vector<Label>{1});
}

TEST_F(ImageFolderTest, ValStandsForTestAndTrainMayBeAClass) {
  write_two_splits();
  std::filesystem::rename(root_ + "/test", root_ + "/val");
  EXPECT_EQ(open()->info().test_count, 1U);
  root_ = folder_ / "vehicles";
  for (const char* name : {"train/1.png", "train/2.png", "car/1.png", "car/2.png"}) write(name);
  EXPECT_TRUE(looks_like_image_folder(root_));
  EXPECT_EQ(open(split(0.5))->info().classes, (std::vector<std::string>{"car", "train"}));
}

TEST_F(ImageFolderTest, SourceDigestIsThatOfSha256sum) {
  write_two_splits();
  std::string lines;
  for (const char* name :
       {"test/dog/1.png", "train/cat/1.png", "train/cat/x/2.png", "train/dog/1.png"}) {
    lines += sha256_hex(testing::read_bytes(root_ + "/" + name)) + "  " + name + "\n";
  }
  EXPECT_EQ(open()->source_sha256(), sha256_hex(lines));
  const auto read_before = open();
  std::vector<Label> labels;
  first_values(*read_before, Split::kTrain, labels);
  EXPECT_EQ(read_before->source_sha256(), sha256_hex(lines));
}

TEST_F(ImageFolderTest, APartOfEachClassMayBecomeTheTestSet) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i) + ".png";
    write("cat/" + name, std::string(3, static_cast<char>(i)));
    if (i < 10) write("dog/" + name, std::string(3, static_cast<char>(100 + i)));
  }
  const auto source = open(split(0.2));
  EXPECT_EQ(source->info().train_count, 24U);
  EXPECT_EQ(source->info().test_count, 6U);
  std::vector<Label> labels;
  const std::string test = first_values(*source, Split::kTest, labels);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 0), 4);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 2);
  std::string all = test + first_values(*source, Split::kTrain, labels);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()) - all.begin(), 30);
  EXPECT_EQ(first_values(*open(split(0.2)), Split::kTest, labels), test);
  EXPECT_NE(first_values(*open(split(0.2, 1)), Split::kTest, labels), test);
  EXPECT_EQ(open(split(0.2))->source_sha256(), open(split(0.5))->source_sha256());
}

TEST_F(ImageFolderTest, GrayPicturesMakeGrayImages) {
  write("train/a/1.png", "x");
  write("test/a/1.png", "x");
  EXPECT_EQ(open()->info().shape, (ImageShape{1, 2, 3}));
  ImageFolderOptions color;
  color.channels = 3;
  EXPECT_EQ(open(color)->info().shape, (ImageShape{3, 2, 3}));
  write("test/a/2.png", "abc");
  EXPECT_EQ(open()->info().shape, (ImageShape{3, 2, 3}));
}

TEST_F(ImageFolderTest, PicturesOfSeveralSizesNeedOne) {
  write_two_splits();
  write_bytes(root_ + "/test/dog/2.png", png(1, 1, 3, "abc"));
  expect_error(ExitCode::kUsage, {"--size is missing", "2x3", "test/dog/2.png has 1x1"},
               [&] { open(); });
  ImageFolderOptions size;
  size.height = 4;
  size.width = 5;
  const auto source = open(size);
  EXPECT_EQ(source->info().shape, (ImageShape{3, 4, 5}));
  std::vector<Label> labels;
  EXPECT_EQ(first_values(*source, Split::kTest, labels), "Da");
}

TEST_F(ImageFolderTest, WhatIsMissingOrTooMuchIsNamed) {
  write_two_splits();
  expect_error(ExitCode::kUsage, {"--test-split", "has a test set already"},
               [&] { open(split(0.2)); });
  write("test/bird/1.png");
  expect_error(ExitCode::kBadData, {"test/bird", "cat, dog"}, [&] { open(); });
  std::filesystem::remove_all(root_ + "/test");
  expect_error(ExitCode::kUsage, {"--test-split is missing"}, [&] { open(); });
  write("train/1.png");
  expect_error(ExitCode::kBadData, {"train/1.png", "no folder of a class"},
               [&] { open(split(0.2)); });
  std::filesystem::remove(root_ + "/train/1.png");
  write_bytes(root_ + "/train/cat/clip.gif", "GIF89a");
  expect_error(ExitCode::kBadData, {"clip.gif: is a GIF picture", "magick"},
               [&] { open(split(0.2)); });
  std::filesystem::remove(root_ + "/train/cat/clip.gif");
  write_bytes(root_ + "/train/cat/Thumbs.db", "x");
  write_bytes(root_ + "/train/cat/.DS_Store", "x");
  EXPECT_EQ(open(split(0.2))->info().train_count, 2U);
}

TEST_F(ImageFolderTest, ImagesThatAreTooLargeAskForASize) {
  const std::string photo = testing::png_claiming(3000, 4000);
  write_bytes(root_ + "/train/cat/1.png", photo);
  write_bytes(root_ + "/test/cat/1.png", photo);
  expect_error(ExitCode::kUsage,
               {"--size: ", "train/cat/1.png", "3x3000x4000", "36,000,000", "at most 1,000,000"},
               [&] { open(); });
  ImageFolderOptions size;
  size.height = size.width = 65'536;
  expect_error(ExitCode::kUsage, {"--size: asks for", "65536", "at most 1,000,000"},
               [&] { open(size); });
  size.height = size.width = 1000;  // would do for gray
  expect_error(ExitCode::kUsage, {"--size", "3x1000x1000"}, [&] { open(size); });
  size.channels = 1;
  EXPECT_EQ(open(size)->info().shape, (ImageShape{1, 1000, 1000}));
}

TEST_F(ImageFolderTest, LookingAtFilesMayBeEnded) {
  write_two_splits();
  for (int allowed = 0; allowed < 4; ++allowed) {
    ImageFolderOptions options;
    int calls = 0;
    options.check = [&] {
      if (calls++ == allowed) throw Error(ExitCode{143}, "interrupted");
    };
    EXPECT_THROW(open(options), Error) << allowed;
  }
}

TEST_F(ImageFolderTest, OptionsThatAreMissingAreNamedAtOnce) {
  write("cat/1.png");
  write_bytes(root_ + "/dog/1.png", png(1, 1, 3, "abc"));
  write_bytes(root_ + "/dog/2.png", "<html>");
  expect_error(ExitCode::kUsage,
               {"--test-split is missing", "\n  --size is missing: ", "dog/1.png has 1x1"},
               [&] { open(); });
}

// All of them, in the order of their names, with any number of threads. Only decoding finds the cut
// one.
TEST_F(ImageFolderTest, BrokenPicturesAreNamedInOrder) {
  for (int i = 10; i < 40; ++i) write("train/a/" + std::to_string(i) + ".png");
  write("test/a/1.png");
  write("test/a/2.png");
  for (const char* name : {"17.png", "23.png", "39.png"}) {
    write_bytes(root_ + "/train/a/" + name, "<html>");
  }
  const std::string whole = testing::read_bytes(root_ + "/test/a/1.png");
  write_bytes(root_ + "/test/a/1.png", whole.substr(0, whole.size() - 20));
  for (const int threads : {1, 4}) {
    ImageFolderOptions options;
    options.threads = threads;
    try {
      open(options);
      FAIL();
    } catch (const BrokenFilesError& error) {
      const std::string list = list_of(error.files());
      EXPECT_NE(std::string(error.what()).find(": 4 files cannot be packed\n"), std::string::npos);
      EXPECT_LT(list.find("test/a/1.png\tis a damaged PNG"), list.find("17.png\tis a web page"));
      EXPECT_LT(list.find("17.png"), list.find("23.png"));
      EXPECT_LT(list.find("23.png"), list.find("39.png"));
      EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 4);
    }
  }
}

TEST_F(ImageFolderTest, BrokenFilesMayBeLeftOut) {
  write_two_splits();
  write("train/dog/2.png", "DOG");
  const std::string path = root_ + "/train/dog/1.png";
  const std::string whole = testing::read_bytes(path);
  write_bytes(path, whole.substr(0, whole.size() - 20));
  write_bytes(root_ + "/train/cat/a\nb.gif", "GIF89a");
  std::filesystem::create_symlink("nowhere", root_ + "/train/cat/link.png");
  std::filesystem::create_symlink("self.png", root_ + "/train/cat/self.png");
  ImageFolderOptions options;
  options.skip_broken = true;
  const auto source = open(options);
  std::vector<Label> labels;
  EXPECT_EQ(first_values(*source, Split::kTrain, labels), "CcD");
  EXPECT_EQ(labels, (std::vector<Label>{0, 0, 1}));
  EXPECT_NO_THROW(source->require_whole());
  const BrokenFiles skipped = source->skipped_files();
  ASSERT_EQ(skipped.size(), 4U);
  const std::string list = list_of(skipped, "in/");
  EXPECT_EQ(list.rfind("in/train/cat/a\\x0ab.gif\tis a GIF picture", 0), 0U) << list;
  EXPECT_NE(list.find("\nin/train/cat/link.png\tcannot be read: No such file"), std::string::npos);
  EXPECT_NE(list.find("\nin/train/cat/self.png\tcannot be read: Too many"), std::string::npos);
  EXPECT_NE(list.find("\nin/train/dog/1.png\tis a damaged PNG"), std::string::npos) << list;
  // The rest must still be a data set.
  std::filesystem::remove(root_ + "/train/dog/2.png");
  for (const bool skips : {true, false}) {
    options.skip_broken = skips;
    expect_error(ExitCode::kBadData, {"4 files cannot", "and class dog has no other for training"},
                 [&] { open(options); });
  }
  options.skip_broken = true;
  write_bytes(path, whole);
  write_bytes(root_ + "/test/dog/1.png", "");
  expect_error(ExitCode::kBadData, {"there is no other for testing"}, [&] { open(options); });
}

TEST_F(ImageFolderTest, ManyBrokenFilesAreCounted) {
  write_two_splits();
  for (int i = 0; i < 25; ++i) write_bytes(root_ + "/test/dog/x" + std::to_string(i) + ".png", "");
  expect_error(ExitCode::kBadData, {": 25 files cannot be packed\n", "x12.png", "\n  and 5 more"},
               [&] { open(); });
}

TEST_F(ImageFolderTest, PicturesThatAreCutAreNamedOnceAllAreRead) {
  write_two_splits();
  for (const char* name : {"/train/dog/1.png", "/train/cat/1.png"}) {
    const std::string whole = testing::read_bytes(root_ + name);
    write_bytes(root_ + name, whole.substr(0, whole.size() - 20));
  }
  const auto source = open();
  std::vector<Label> labels;
  EXPECT_EQ(first_values(*source, Split::kTrain, labels)[1], 'c');
  expect_error(
      ExitCode::kBadData,
      {"2 files", "train/cat/1.png: is a damaged PNG", "train/dog/1.png: is a damaged PNG"},
      [&] { source->require_whole(); });
}

TEST_F(ImageFolderTest, OtherFoldersAreNot) {
  std::filesystem::create_directories(root_ + "/empty");
  EXPECT_FALSE(looks_like_image_folder(root_));
  EXPECT_FALSE(looks_like_image_folder(root_ + "/absent"));
  write("1.png");
  EXPECT_FALSE(looks_like_image_folder(root_));
  expect_error(ExitCode::kBadData, {"1.png: is not a folder"},
               [&] { open_image_folder(root_ + "/1.png", {}); });
}

TEST(ClassSplit, TakesTheShareOfEachClassButNeverAllOfIt) {
  // Class 0: one image, class 1: two, class 2: ten.
  const std::vector<Label> labels{0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  for (const double share : {0.01, 0.3, 0.9}) {
    const std::vector<bool> is_test = draw_of_each_class(labels, share, 5, "--test-split", "x");
    EXPECT_FALSE(is_test[0]);
    EXPECT_EQ(is_test[1] + is_test[2], 1);
    EXPECT_EQ(std::count(is_test.begin() + 3, is_test.end(), true),
              share < 0.1 ? 1 : static_cast<int>(share * 10 + 0.5));
  }
  expect_error(ExitCode::kUsage, {"--test-split", "0.5"}, [] {
    draw_of_each_class({0, 1, 2}, 0.5, 0, "--test-split", "x");
  });
}

}  // namespace
}  // namespace tandem::data
