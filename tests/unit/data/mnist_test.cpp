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

using testing::expect_error;
using testing::gzip;
using testing::idx;
using testing::mnist_files;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;
using testing::write_mnist;

constexpr char kTrainImages[] = "/train-images-idx3-ubyte";
constexpr char kTrainLabels[] = "/train-labels-idx1-ubyte";
constexpr char kTestImages[] = "/t10k-images-idx3-ubyte";

class Mnist : public ::testing::Test {
 protected:
  void SetUp() override { write_mnist(raw_, 12, 5); }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_error(ExitCode::kBadData, parts, [&] { open_mnist(raw_, {}); });
  }

  TempDir folder_;
  std::string raw_ = folder_ / "MNIST/raw";
};

TEST_F(Mnist, ReadsImagesAndLabels) {
  const auto source = open_mnist(raw_, {});
  EXPECT_EQ(source->info().name, "mnist");
  EXPECT_EQ(source->info().classes.size(), 10U);
  EXPECT_EQ(source->info().shape, (ImageShape{1, 28, 28}));
  EXPECT_EQ(source->info().train_count, 12U);
  EXPECT_EQ(source->info().test_count, 5U);
  std::vector<std::uint8_t> images(2 * 784);
  std::vector<Label> labels(2);
  source->read(Split::kTrain, 10, 2, images.data(), labels.data());
  EXPECT_EQ(std::string(images.begin(), images.end()),
            mnist_files(12, 5)[0].second.substr(16 + 10 * 784));
  EXPECT_EQ(labels, (std::vector<Label>{0, 1}));
  source->read(Split::kTest, 4, 1, images.data(), labels.data());
  EXPECT_EQ(labels[0], 4);
}

TEST_F(Mnist, EveryFormOnDiskGivesTheSame) {
  std::string lines;
  for (const auto& [name, content] : mnist_files(12, 5)) {
    write_bytes(folder_ / ("gz/" + name + ".gz"), gzip(content));
    write_bytes(folder_ / ("both/" + name + ".gz"), "ignored where the plain file is there");
    write_bytes(folder_ / ("both/" + name), content);
    std::string dotted = name;
    dotted[dotted.find("-idx")] = '.';
    write_bytes(folder_ / ("dots/" + dotted), content);
    lines += sha256_hex(content) + "  " + name + "\n";
  }
  for (const std::string name : {"MNIST", "MNIST/raw", "gz", "both", "dots"}) {
    EXPECT_TRUE(looks_like_mnist(folder_ / name)) << name;
    EXPECT_EQ(open_mnist(folder_ / name, {})->source_sha256(), sha256_hex(lines)) << name;
  }
  EXPECT_FALSE(looks_like_mnist(folder_.path()));
}

TEST_F(Mnist, ClassesBoundTheLabels) {
  EXPECT_EQ(open_mnist(raw_, std::vector<std::string>(12, "c"))->info().classes.size(), 12U);
  expect_error(ExitCode::kBadData, {"train-labels", "at offset 17", "label 9", "a label of 0 to 8"},
               [&] { open_mnist(raw_, std::vector<std::string>(9, "c")); });
  std::string labels = read_bytes(raw_ + kTrainLabels);
  labels[8 + 3] = 77;
  write_bytes(raw_ + kTrainLabels, labels);
  expect_refused({"train-labels", "at offset 11", "label 77", "0 to 9"});
}

TEST_F(Mnist, WrongSizesAreRefused) {
  const std::string whole = read_bytes(raw_ + kTrainImages);
  write_bytes(raw_ + kTrainImages, whole.substr(0, whole.size() - 1));
  expect_refused({"train-images", "at offset 9423", "found the end", "9,424 bytes"});
  write_bytes(raw_ + kTrainImages, whole + '\0');
  expect_refused({"train-images", "at offset 9424", "more data"});
  write_bytes(raw_ + kTrainImages, "");
  expect_refused({"train-images", "at offset 0", "an empty file", "IDX header"});
  write_bytes(raw_ + kTrainImages, "<html><body>");
  expect_refused({"train-images", "web page"});
  write_bytes(raw_ + kTrainImages, gzip(whole).substr(0, gzip(whole).size() / 2));
  expect_refused({"train-images", "more gzip data"});
}

TEST_F(Mnist, HeadersThatClaimTooMuchOrDisagreeAreRefused) {
  write_bytes(raw_ + kTrainImages, idx({0xFFFFFFFF, 28, 28}, ""));
  expect_refused({"train-images", "at offset 4", "4294967295"});
  write_bytes(raw_ + kTrainImages, idx({60000, 1024, 1024}, ""));
  expect_refused({"train-images", "at offset 12", "1024"});
  write_bytes(raw_ + kTrainImages, idx({0, 28, 28}, ""));
  expect_refused({"train-images", "at offset 4", "an extent of 0"});
  write_bytes(raw_ + kTrainImages, idx({11, 28, 28}, std::string(11 * 784, 'x')));
  expect_refused({"train-labels", "12 labels", "11 as there are images"});
  write_mnist(raw_, 12, 5);
  write_bytes(raw_ + kTestImages, idx({5, 27, 28}, std::string(5 * 27 * 28, 'x')));
  expect_refused({"t10k-images", "27 x 28", "28 x 28"});
  write_bytes(raw_ + kTestImages, idx({5}, "12345"));
  expect_refused({"t10k-images", "at offset 0"});
}

TEST_F(Mnist, MissingFilesAreMissingInput) {
  std::filesystem::remove(raw_ + kTestImages);
  expect_error(ExitCode::kMissingInput, {"t10k-images-idx3-ubyte"}, [&] { open_mnist(raw_, {}); });
}

}  // namespace
}  // namespace tandem::data
