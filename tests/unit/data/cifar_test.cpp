#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"

namespace tandem::data {
namespace {

using testing::cifar10_files;
using testing::expect_error;
using testing::gzip;
using testing::read_bytes;
using testing::tar_end;
using testing::tar_member;
using testing::TempDir;
using testing::write_bytes;
using testing::write_cifar10;

constexpr int kImages = 4;  // a file

class Cifar10 : public ::testing::Test {
 protected:
  void SetUp() override { write_cifar10(batches_, kImages); }
  std::unique_ptr<ImageSource> open(const std::string& path) { return open_cifar10(path, kImages); }
  // Opens the folder after `name` got other content.
  void expect_refused(ExitCode code, const std::vector<std::string>& parts) {
    expect_error(code, parts, [&] { open(batches_)->source_sha256(); });
  }

  TempDir folder_;
  std::string batches_ = folder_ / "cifar-10-batches-bin";
};

TEST_F(Cifar10, ImagesAndLabelsComeInTheOrderOfTheFiles) {
  const auto source = open(batches_);
  EXPECT_EQ(source->info().name, "cifar10");
  EXPECT_EQ(source->info().classes.size(), 10U);
  EXPECT_EQ(source->info().classes[9], "truck");
  EXPECT_EQ(source->info().train_count, 20U);
  EXPECT_EQ(source->info().test_count, 4U);
  // Across the border of the second and the third file.
  std::vector<std::uint8_t> images(2 * 3072);
  std::vector<Label> labels(2);
  source->read(Split::kTrain, 7, 2, images.data(), labels.data());
  const auto files = cifar10_files(kImages);
  const std::string expected =
      files[2].second.substr(3 * 3073 + 1, 3072) + files[3].second.substr(1, 3072);
  EXPECT_EQ(std::string(images.begin(), images.end()), expected);
  EXPECT_EQ(labels, (std::vector<Label>{4, 2}));
  source->read(Split::kTest, 3, 1, images.data(), labels.data());
  EXPECT_EQ(std::string(images.begin(), images.begin() + 3072),
            files[6].second.substr(3 * 3073 + 1));
  EXPECT_EQ(labels[0], 8);
}

TEST_F(Cifar10, ParentFolderAndArchiveGiveTheSame) {
  std::string archive = tar_member("./cifar-10-batches-bin/readme.html", "<html>");
  auto files = cifar10_files(kImages);
  std::swap(files[1], files[5]);  // the published archive is in no order either
  for (const auto& [name, content] : files) {
    archive += tar_member("cifar-10-batches-bin/" + name, content);
  }
  write_bytes(folder_ / "cifar.tar.gz", gzip(archive + tar_end()));
  const auto folder = open(batches_);
  for (const std::string& path : {folder_.path(), folder_ / "cifar.tar.gz"}) {
    const auto other = open(path);
    EXPECT_EQ(other->source_sha256(), folder->source_sha256());
    std::vector<std::uint8_t> images(40 * 3072);
    std::vector<Label> labels(40);
    folder->read(Split::kTrain, 0, 20, images.data(), labels.data());
    other->read(Split::kTrain, 0, 20, images.data() + 20 * 3072, labels.data() + 20);
    EXPECT_TRUE(std::equal(images.begin(), images.begin() + 20 * 3072, images.begin() + 20 * 3072));
    EXPECT_TRUE(std::equal(labels.begin(), labels.begin() + 20, labels.begin() + 20));
  }
}

TEST_F(Cifar10, SourceDigestIsThatOfSha256sum) {
  std::string lines;
  for (const auto& [name, content] : cifar10_files(kImages)) {
    lines += sha256_hex(content) + "  " + name + "\n";
  }
  EXPECT_EQ(open(batches_)->source_sha256(), sha256_hex(lines));
}

TEST_F(Cifar10, WrongSizesAreRefused) {
  const std::string path = batches_ + "/data_batch_3.bin";
  const std::string whole = read_bytes(path);
  write_bytes(path, whole.substr(0, whole.size() - 1));
  expect_refused(ExitCode::kBadData,
                 {"data_batch_3.bin", "at offset 12291", "found the end", "12,292 bytes"});
  write_bytes(path, whole + "x");
  expect_refused(ExitCode::kBadData,
                 {"data_batch_3.bin", "at offset 12292", "more data", "12,292 bytes"});
  write_bytes(path, "");
  expect_refused(ExitCode::kBadData, {"data_batch_3.bin", "at offset 0", "empty"});
  write_bytes(path, "<!DOCTYPE html><title>404</title>");
  expect_refused(ExitCode::kBadData, {"data_batch_3.bin", "web page"});
}

TEST_F(Cifar10, LabelAboveNineIsRefused) {
  const std::string path = batches_ + "/test_batch.bin";
  std::string content = read_bytes(path);
  content[2 * 3073] = 10;
  write_bytes(path, content);
  expect_refused(ExitCode::kBadData,
                 {"test_batch.bin", "at offset 6146", "label 10", "a label of 0 to 9"});
}

TEST_F(Cifar10, ClassNamesAreChecked) {
  const std::string path = batches_ + "/batches.meta.txt";
  write_bytes(path, "airplane\nautomobile\n");
  expect_refused(ExitCode::kBadData, {"batches.meta.txt", "2 class names", "10 are expected"});
  write_bytes(path, "a\nb\nc\nd\ne\nf\ng\nh\ni\n\x1b[31m\n");
  expect_refused(ExitCode::kBadData, {"batches.meta.txt", "class name 10"});
  write_bytes(path, "");
  expect_refused(ExitCode::kBadData, {"batches.meta.txt", "0 class names"});
}

TEST_F(Cifar10, MissingFilesAreMissingInput) {
  std::filesystem::remove(batches_ + "/data_batch_5.bin");
  expect_refused(ExitCode::kMissingInput, {"data_batch_5.bin"});
  expect_error(ExitCode::kMissingInput, {folder_ / "absent"}, [&] { open(folder_ / "absent"); });
  std::filesystem::create_directory(folder_ / "empty");
  expect_error(ExitCode::kMissingInput, {"empty"}, [&] { open(folder_ / "empty"); });
}

TEST_F(Cifar10, IncompleteOrForeignArchiveIsRefused) {
  const std::string path = folder_ / "x.tar.gz";
  const auto files = cifar10_files(kImages);
  const std::string member = tar_member("cifar-10-batches-bin/" + files[1].first, files[1].second);
  write_bytes(path, gzip(member + tar_end()));
  expect_error(ExitCode::kBadData, {"x.tar.gz", "has no member", "batches.meta.txt"},
               [&] { open(path); });
  write_bytes(path, gzip(member + member + tar_end()));
  expect_error(ExitCode::kBadData, {"data_batch_1.bin", "twice"}, [&] { open(path); });
  write_bytes(path, gzip("no tar archive at all"));
  expect_error(ExitCode::kBadData, {"x.tar.gz"}, [&] { open(path); });
  write_bytes(path, "<html>not found</html>");
  expect_error(ExitCode::kBadData, {"x.tar.gz"}, [&] { open(path); });
}

TEST_F(Cifar10, PythonFormNamesTheConverter) {
  write_bytes(folder_ / "py/cifar-10-batches-py/data_batch_1", "pickle");
  const std::vector<std::string> parts = {"pickle", "data/cifar10_from_python.py",
                                          "cifar-10-batches-py"};
  EXPECT_TRUE(looks_like_cifar10(folder_ / "py"));
  expect_error(ExitCode::kBadData, parts, [&] { open(folder_ / "py"); });
  expect_error(ExitCode::kBadData, parts, [&] { open(folder_ / "py/cifar-10-batches-py"); });
  write_bytes(folder_ / "py.tar.gz",
              gzip(tar_member("cifar-10-batches-py/data_batch_1", "pickle") + tar_end()));
  expect_error(ExitCode::kBadData, {"pickle", "data/cifar10_from_python.py"},
               [&] { open(folder_ / "py.tar.gz"); });
}

// Image i of file f has the coarse label (i + f) % 20 and the fine label 99 - (i + f) % 100.
std::vector<std::pair<std::string, std::string>> cifar100_files() {
  std::string names;
  for (int i = 0; i < 100; ++i) names += "class " + std::to_string(i) + "\n";
  std::vector<std::pair<std::string, std::string>> files{{"fine_label_names.txt", names}};
  for (const int file : {0, 1}) {
    std::string records;
    for (int i = 0; i < (file == 0 ? 5 : 1) * kImages; ++i) {
      records += static_cast<char>((i + file) % 20);
      records += static_cast<char>(99 - (i + file) % 100);
      records += std::string(3072, static_cast<char>(17 * i + file));
    }
    files.emplace_back(file == 0 ? "train.bin" : "test.bin", records);
  }
  return files;
}

class Cifar100 : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, content] : cifar100_files())
      write_bytes(batches_ + "/" + name, content);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_error(ExitCode::kBadData, parts,
                 [&] { open_cifar100(batches_, kImages)->source_sha256(); });
  }

  TempDir folder_;
  std::string batches_ = folder_ / "cifar-100-binary";
};

TEST_F(Cifar100, ImagesHaveTheirFineLabels) {
  const auto source = open_cifar100(folder_.path(), kImages);
  EXPECT_EQ(source->info().name, "cifar100");
  EXPECT_EQ(source->info().classes.at(42), "class 42");
  EXPECT_EQ(source->info().train_count, 20U);
  EXPECT_EQ(source->info().test_count, 4U);
  std::vector<std::uint8_t> images(20 * 3072);
  std::vector<Label> labels(20);
  source->read(Split::kTrain, 0, 20, images.data(), labels.data());
  EXPECT_EQ(labels[0], 99);
  EXPECT_EQ(labels[19], 80);
  EXPECT_EQ(images[0], 0);
  EXPECT_EQ(images[20 * 3072 - 1], static_cast<std::uint8_t>(17 * 19));
  source->read(Split::kTest, 3, 1, images.data(), labels.data());
  EXPECT_EQ(labels[0], 95);
  EXPECT_EQ(images[0], 52);
}

TEST_F(Cifar100, FolderAndArchiveGiveTheSameAndAreNotTakenForCifar10) {
  std::string archive;
  std::string lines;
  for (const auto& [name, content] : cifar100_files()) {
    archive += tar_member("cifar-100-binary/" + name, content);
    lines += sha256_hex(content) + "  " + name + "\n";
  }
  write_bytes(folder_ / "archive/x.tar.gz", gzip(archive + tar_end()));
  for (const std::string& path : {folder_.path(), batches_, folder_ / "archive/x.tar.gz"}) {
    EXPECT_TRUE(looks_like_cifar100(path)) << path;
    EXPECT_FALSE(looks_like_cifar10(path)) << path;
    EXPECT_EQ(open_cifar100(path, kImages)->source_sha256(), sha256_hex(lines)) << path;
  }
}

TEST_F(Cifar100, WrongLabelsAndSizesAreRefused) {
  const std::string whole = read_bytes(batches_ + "/test.bin");
  std::string wrong = whole;
  wrong[3074 + 1] = 100;
  write_bytes(batches_ + "/test.bin", wrong);
  expect_refused({"test.bin", "at offset 3075", "label 100", "0 to 99"});
  wrong = whole;
  wrong[3074] = 20;
  write_bytes(batches_ + "/test.bin", wrong);
  expect_refused({"test.bin", "at offset 3074", "label 20", "0 to 19"});
  write_bytes(batches_ + "/test.bin", whole.substr(1));
  expect_refused({"test.bin", "found the end", "12,296 bytes"});
  std::filesystem::remove(batches_ + "/test.bin");
  EXPECT_TRUE(looks_like_cifar100(batches_));
  expect_error(ExitCode::kMissingInput, {"test.bin"}, [&] { open_cifar100(batches_, kImages); });
}

TEST_F(Cifar100, PythonFormIsRefused) {
  write_bytes(folder_ / "py/cifar-100-python/train", "pickle");
  write_bytes(folder_ / "py/cifar-100-python/meta", "pickle");
  EXPECT_TRUE(looks_like_cifar100(folder_ / "py"));
  expect_error(ExitCode::kBadData, {"pickle", "cifar-100-binary.tar.gz"},
               [&] { open_cifar100(folder_ / "py", kImages); });
}

}  // namespace
}  // namespace tandem::data
