#include "tandem/data/cifar10.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

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
  std::vector<std::uint8_t> labels(2);
  source->read(Split::kTrain, 7, 2, images.data(), labels.data());
  const auto files = cifar10_files(kImages);
  const std::string expected =
      files[2].second.substr(3 * 3073 + 1, 3072) + files[3].second.substr(1, 3072);
  EXPECT_EQ(std::string(images.begin(), images.end()), expected);
  EXPECT_EQ(labels, (std::vector<std::uint8_t>{4, 2}));
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
    std::vector<std::uint8_t> labels(40);
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

}  // namespace
}  // namespace tandem::data
