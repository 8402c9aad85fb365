#include "tandem/data/pack.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "data/pack/packed_writer.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::names_in;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;
using testing::write_mnist;

class Pack : public ::testing::Test {
 protected:
  PackRequest request(const std::string& input) {
    PackRequest request;
    request.input = input;
    request.output = output_;
    request.images = 20;
    return request;
  }
  // Whatever goes wrong, the folder of the output stays as it was.
  void expect_refused(ExitCode code, const std::vector<std::string>& parts,
                      const PackRequest& wrong) {
    const std::string older = "\x89HDF\r\n\x1a\n of an older data set";
    write_bytes(output_, older);
    expect_error(code, parts, [&] { pack(wrong); });
    EXPECT_EQ(names_in(folder_ / "out"), std::vector<std::string>{"set.h5"});
    EXPECT_EQ(read_bytes(output_), older);
  }

  void SetUp() override { std::filesystem::create_directory(folder_ / "out"); }

  TempDir folder_;
  std::string output_ = folder_ / "out/set.h5";
};

TEST_F(Pack, SyntheticRoundTrip) {
  const DatasetInfo info = pack(request("synthetic"));
  EXPECT_EQ(names_in(folder_ / "out"), std::vector<std::string>{"set.h5"});
  const PackedFile file(output_);
  EXPECT_EQ(file.info().digest, info.digest);
  EXPECT_EQ(file.info().train_count, 20U);
  EXPECT_TRUE(info.sealed);
}

TEST_F(Pack, EqualInputGivesEqualBytes) {
  pack(request("synthetic"));
  const std::string first = read_bytes(output_);
  pack(request("synthetic"));
  EXPECT_EQ(read_bytes(output_), first);
  PackRequest other = request("synthetic");
  other.seed = 1;
  pack(other);
  EXPECT_NE(read_bytes(output_), first);
}

TEST_F(Pack, MnistRoundTripWithNameAndClasses) {
  write_mnist(folder_ / "raw", 30, 12);
  EXPECT_EQ(pack(request(folder_ / "raw")).name, "mnist");
  write_bytes(folder_ / "classes.txt",
              "\xef\xbb\xbf"
              "a\nb\nc\nd\ne\nf\ng\nh\ni\nlong name\n\n");
  PackRequest fashion = request(folder_.path());
  fashion.name = "fashion";
  fashion.classes_file = folder_ / "classes.txt";
  pack(fashion);
  const PackedFile file(output_);
  EXPECT_EQ(file.info().name, "fashion");
  EXPECT_EQ(file.info().classes.front(), "a");
  EXPECT_EQ(file.info().classes.back(), "long name");
  std::vector<std::uint8_t> images(12 * 784);
  std::vector<Label> labels(12);
  file.read(Split::kTest, 0, images, labels);
  EXPECT_EQ(std::string(images.begin(), images.end()),
            testing::mnist_files(30, 12)[2].second.substr(16));
  EXPECT_EQ(labels[11], 1);
}

TEST_F(Pack, OwnPicturesRoundTrip) {
  std::string values;
  for (int i = 0; i < 27; ++i) values += static_cast<char>(9 * i);
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    write_bytes(folder_ / (std::string("pets/") + name), testing::png(3, 3, 3, values));
  }
  PackRequest own = request(folder_ / "pets");
  own.test_split = 0.5;
  own.height = 2;
  own.width = 4;
  pack(own);
  const PackedFile file(output_);
  EXPECT_EQ(file.info().name, "pets");
  EXPECT_EQ(file.info().classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file.info().shape, (ImageShape{3, 2, 4}));
  EXPECT_EQ(file.info().train_count, 2U);
  EXPECT_EQ(file.info().test_count, 2U);
  const std::string first = read_bytes(output_);
  pack(own);
  EXPECT_EQ(read_bytes(output_), first);
}

TEST_F(Pack, BrokenFilesAreListedOrLeftOut) {
  const std::string list = broken_list_path(output_);
  EXPECT_EQ(list, output_ + ".broken.txt");
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    write_bytes(folder_ / (std::string("pets/") + name), testing::png(1, 2, 1, {0, 9}));
  }
  write_bytes(folder_ / "pets/b/3.png", "");
  PackRequest own = request(folder_ / "pets/");
  own.test_split = 0.5;
  expect_error(ExitCode::kBadData,
               {"1 file cannot be packed; ", list + " lists them", "add --skip-broken"},
               [&] { pack(own); });
  EXPECT_FALSE(std::filesystem::exists(output_));
  const std::string line =
      "b/3.png\tis an empty file, a PNG or JPEG file was expected; convert "
      "it, or leave it out\n";
  const std::string mark = "# tandem pack: files that cannot be packed, and why\n";
  EXPECT_EQ(read_bytes(list), mark + (folder_ / "pets/") + line);
  own.skip_broken = true;
  EXPECT_EQ(pack(own).broken_files, 1U);
  EXPECT_EQ(read_bytes(list), mark + (folder_ / "pets/") + line);
  EXPECT_NE(read_bytes(output_).find(line), std::string::npos);
  EXPECT_EQ(PackedFile(output_).info().broken_files, 1U);
  EXPECT_EQ(PackedFile(output_).info().train_count, 2U);
  std::filesystem::remove(folder_ / "pets/b/3.png");
  pack(own);
  EXPECT_FALSE(std::filesystem::exists(list)) << "an old list would be wrong";
  EXPECT_EQ(PackedFile(output_).info().broken_files, 0U);
  own = request("synthetic");
  own.skip_broken = true;
  expect_error(ExitCode::kUsage, {"--skip-broken is for files of pictures"}, [&] { pack(own); });
}

TEST_F(Pack, AListThatCannotBeWrittenDoesNotHideTheBrokenFiles) {
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    write_bytes(folder_ / (std::string("pets/") + name), testing::png(1, 2, 1, {0, 9}));
  }
  write_bytes(folder_ / "pets/b/3.png", "");
  PackRequest own = request(folder_ / "pets");
  own.output = folder_ / "absent/new.h5";
  own.test_split = 0.5;
  expect_error(ExitCode::kBadData,
               {"1 file cannot be packed; repair or remove them, or add --skip-broken; the list "
                "could not be written: ",
                "absent/new.h5.broken.txt", "pets/b/3.png: is an empty file"},
               [&] { pack(own); });
}

TEST_F(Pack, AFileThatIsNoListOfBrokenFilesIsKept) {
  const std::string list = broken_list_path(output_);
  write_bytes(list, "mine");
  expect_error(
      ExitCode::kCannotCreate,
      {list + ": exists already and is not a list of broken files; choose another --output"},
      [&] { pack(request("synthetic")); });
  EXPECT_EQ(read_bytes(list), "mine");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(Pack, ArraysRoundTrip) {
  write_bytes(folder_ / "own.npz",
              testing::zip({{"images.npy", testing::npy("|u1", "(4, 1, 2)", "abcdefgh")},
                            {"labels.npy", testing::npy("|u1", "(4,)", std::string(4, '\0'))}}));
  PackRequest own = request(folder_ / "own.npz");
  own.test_split = 0.25;
  pack(own);
  EXPECT_EQ(PackedFile(output_).info().train_count, 3U);
}

// Against sums done pixel by pixel.
TEST_F(Pack, MeanAndDeviationAreThoseOfTheTrainingImages) {
  testing::write_cifar10(folder_ / "c", 3);
  const auto source = open_cifar10(folder_ / "c", 3);
  write_bytes(output_, "");
  const DatasetInfo info = write_packed(output_, *source, "", [] {});
  std::vector<std::uint8_t> images(15 * 3072);
  std::vector<Label> labels(15);
  source->read(Split::kTrain, 0, 15, images.data(), labels.data());
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::vector<double> values;
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (i / 1024 % 3 == channel) values.push_back(images[i] / 255.0);
    }
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    double variance = 0;
    for (const double value : values) {
      variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
    }
    EXPECT_NEAR(info.mean[channel], mean, 1e-12);
    EXPECT_NEAR(info.std[channel], std::sqrt(variance), 1e-12);
  }
}

// Large images, so that few of them fit into a chunk.
class LargeImages : public ImageSource {
 public:
  LargeImages() {
    info_.name = "large";
    info_.classes = {"a"};
    info_.shape = {1, 1000, 1000};
    info_.train_count = info_.test_count = 20;
  }
  const DatasetInfo& info() const override { return info_; }
  std::string source_sha256() override { return std::string(64, '0'); }
  void read(Split /*split*/, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            Label* labels) const override {
    if (first == fails_at) throw IoError("picture.png: cannot be read");
    most_at_once = std::max(most_at_once, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::fill_n(images + i * 1'000'000, 1'000'000, static_cast<std::uint8_t>(first + i));
      labels[i] = 0;
    }
  }

  std::uint64_t fails_at = 1000;
  mutable std::uint64_t most_at_once = 0;

 private:
  DatasetInfo info_;
};

// Several threads have nothing to do with one picture.
TEST_F(Pack, ManyLargeImagesAreReadAtOnce) {
  LargeImages source;
  write_bytes(output_, "");
  const DatasetInfo info = write_packed(output_, source, "", [] {});
  EXPECT_EQ(source.most_at_once, 16U);
  EXPECT_NEAR(info.mean[0], 9.5 / 255, 1e-12);
}

TEST_F(Pack, WhatTheSourceCannotReadIsNoFaultOfTheOutput) {
  LargeImages source;
  source.fails_at = 16;
  write_bytes(output_, "");
  try {
    write_packed(output_, source, "", [] {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kIo);
    EXPECT_STREQ(error.what(), "picture.png: cannot be read");
  }
}

// Writes beyond a size limit fail like those to a full disk, for a limit at any point of the file.
TEST_F(Pack, ADiskThatFillsUpIsAnErrorAtEachSize) {
  PackRequest small = request("synthetic");
  small.images = 200;
  const std::string digest = pack(small).digest;
  const auto size = std::filesystem::file_size(output_);
  std::filesystem::remove(output_);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  for (rlim_t most = 0; most < size; most += most < 16'384 ? 1'024 : 97 * 1'024) {
    SCOPED_TRACE(most);
    const rlimit full{most, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    expect_error(ExitCode::kIo, {"File too large"}, [&] { pack(small); });
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(names_in(folder_ / "out"), std::vector<std::string>{});
  }
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(pack(small).digest, digest) << "what failed left nothing behind in the library";
}

TEST_F(Pack, UnknownInputIsRefused) {
  expect_refused(ExitCode::kMissingInput, {"absent", "not there"}, request(folder_ / "absent"));
  expect_refused(ExitCode::kBadData, {"holds no known data set"}, request(folder_.path()));
  std::filesystem::create_directory(folder_ / "flat");
  write_bytes(folder_ / "flat/1.jpg", "x");
  expect_refused(ExitCode::kBadData, {"flat: holds pictures, but no folder", "flat/cat"},
                 request(folder_ / "flat"));
  write_bytes(folder_ / "page", "<html>");
  expect_refused(ExitCode::kBadData, {"page", "web page"}, request(folder_ / "page"));
  write_bytes(folder_ / "empty", "");
  expect_refused(ExitCode::kBadData, {"empty", "an empty file"}, request(folder_ / "empty"));
  write_bytes(folder_ / "short.tar.gz", testing::gzip("short"));
  expect_refused(ExitCode::kBadData, {"short.tar.gz"}, request(folder_ / "short.tar.gz"));
}

TEST_F(Pack, BrokenInputIsRefused) {
  write_mnist(folder_ / "raw", 3, 3);
  write_bytes(folder_ / "raw/t10k-labels-idx1-ubyte", testing::idx({3}, "\1\2\12"));
  expect_refused(ExitCode::kBadData, {"t10k-labels", "at offset 10", "label 10"},
                 request(folder_ / "raw"));
  write_mnist(folder_ / "raw", 3, 3);
  write_bytes(folder_ / "raw/train-images-idx3-ubyte",
              testing::idx({3, 28, 28}, std::string(3 * 784, 'x')));
  expect_refused(ExitCode::kBadData, {"raw", "channel 0", "same value"}, request(folder_ / "raw"));
}

TEST_F(Pack, AmbiguousInputAsksForTheFormat) {
  write_mnist(folder_ / "all", 3, 3);
  write_bytes(folder_ / "all/data_batch_1.bin", "x");
  expect_refused(ExitCode::kUsage, {"--format"}, request(folder_ / "all"));
  PackRequest mnist = request(folder_ / "all");
  mnist.format = "mnist";
  EXPECT_EQ(pack(mnist).name, "mnist");
}

TEST_F(Pack, WrongOptionsAreRefused) {
  PackRequest wrong = request("synthetic");
  wrong.format = "png";
  expect_refused(ExitCode::kUsage, {"--format", "'png'"}, wrong);
  wrong = request("synthetic");
  wrong.classes_file = "classes.txt";
  expect_refused(ExitCode::kUsage, {"--classes"}, wrong);
  wrong = request("synthetic");
  wrong.test_split = 0.5;
  expect_refused(ExitCode::kUsage, {"--test-split", "has a test set"}, wrong);
  wrong = request("synthetic");
  wrong.height = wrong.width = 8;
  expect_refused(ExitCode::kUsage, {"--size"}, wrong);
  wrong = request("synthetic");
  wrong.name = "../x";
  expect_refused(ExitCode::kUsage, {"--name", "'../x'"}, wrong);
  wrong = request("synthetic");
  wrong.output = folder_ / "absent/set.h5";
  expect_refused(ExitCode::kCannotCreate, {"absent/set.h5"}, wrong);
  wrong.output = "/dev/null";
  expect_refused(ExitCode::kCannotCreate, {"/dev/null", "the name of a file was expected"}, wrong);
  wrong.output = folder_ / "link";
  std::filesystem::create_symlink("/dev/null", wrong.output);
  expect_refused(ExitCode::kCannotCreate, {"link", "is a device or pipe"}, wrong);
}

// The signal is held back by the test itself, so that it is there when the work first looks.
TEST_F(Pack, ReplacesPackedDataSetsOnly) {
  pack(request("synthetic"));
  PackRequest again = request("synthetic");
  again.seed = 7;
  const DatasetInfo second = pack(again);
  EXPECT_EQ(PackedFile(output_).info().digest, second.digest);
  write_bytes(output_, "notes that somebody wrote");
  expect_error(ExitCode::kCannotCreate, {"set.h5", "is not a packed data set"},
               [&] { pack(request("synthetic")); });
  EXPECT_EQ(read_bytes(output_), "notes that somebody wrote");
}

TEST_F(Pack, InterruptLeavesNothingBehind) {
  PackRequest interrupted = request("synthetic");
  interrupted.store = Store::kEncoded;
  interrupted.height = interrupted.width = 32;
  interrupted.on_progress = [](std::uint64_t done, std::uint64_t /*all*/) {
    if (done == 3) std::raise(SIGINT);
  };
  expect_refused(static_cast<ExitCode>(128 + SIGINT), {"signal 2; nothing was written"},
                 interrupted);
}

}  // namespace
}  // namespace tandem::data
