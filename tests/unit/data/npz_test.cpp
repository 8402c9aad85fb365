#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "data/pixel_sources/npy_array.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::npy;
using testing::TempDir;
using testing::write_bytes;
using Members = std::vector<std::pair<std::string, std::string>>;

// `count` bytes from `first` on.
std::string bytes_from(int first, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(first + i);
  return bytes;
}

Members four_arrays() {
  return {{"train_images.npy", npy("|u1", "(3, 2, 2)", bytes_from(0, 12))},
          {"train_labels.npy", npy("|u1", "(3, 1)", std::string("\0\2\1", 3))},
          {"test_images.npy", npy("|u1", "(1, 2, 2)", bytes_from(50, 4))},
          {"test_labels.npy", npy("<i8", "(1,)", std::string("\1\0\0\0\0\0\0\0", 8))}};
}

class NpzTest : public ::testing::Test {
 protected:
  std::unique_ptr<ImageSource> open(const Members& members, const NpzOptions& options = {},
                                    bool deflated = false) {
    write_bytes(path_, testing::zip(members, deflated));
    return open_npz(path_, options);
  }
  void expect_refused(const Members& members, const std::vector<std::string>& parts) {
    expect_error(ExitCode::kBadData, parts, [&] { open(members); });
  }
  static std::vector<std::uint8_t> image(const ImageSource& source, Split split,
                                         std::uint64_t index) {
    std::vector<std::uint8_t> values(source.info().shape.pixels());
    Label label = 0;
    source.read(split, index, 1, values.data(), &label);
    values.push_back(static_cast<std::uint8_t>(label));
    return values;
  }

  TempDir folder_;
  std::string path_ = folder_ / "blood.npz";
};

TEST_F(NpzTest, ReadsStoredAndDeflatedArrays) {
  for (const bool deflated : {false, true}) {
    const auto source = open(four_arrays(), {}, deflated);
    EXPECT_TRUE(looks_like_npz(path_));
    EXPECT_EQ(source->info().name, "blood");
    EXPECT_EQ(source->info().shape, (ImageShape{1, 2, 2}));
    EXPECT_EQ(source->info().classes, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(source->info().train_count, 3U);
    EXPECT_EQ(image(*source, Split::kTrain, 1), (std::vector<std::uint8_t>{4, 5, 6, 7, 2}));
    EXPECT_EQ(image(*source, Split::kTest, 0), (std::vector<std::uint8_t>{50, 51, 52, 53, 1}));
    std::string lines;
    for (const auto& [name, content] : four_arrays()) {
      lines += sha256_hex(content) + "  " + name + "\n";
    }
    EXPECT_EQ(source->source_sha256(), sha256_hex(lines));
  }
}

TEST_F(NpzTest, ChannelsMayBeLastOrFirst) {
  Members members{{"x_train.npy", npy("|u1", "(1, 1, 2, 3)", "abcdef")},
                  {"y_train.npy", npy("<u2", "(1,)", std::string(2, '\0'))},
                  {"x_test.npy", npy("|u1", "(1, 1, 2, 3)", "ghijkl")},
                  {"y_test.npy", npy("|i1", "(1,)", std::string(1, '\0'))}};
  auto source = open(members);
  EXPECT_EQ(source->info().shape, (ImageShape{3, 1, 2}));
  EXPECT_EQ(image(*source, Split::kTrain, 0),
            (std::vector<std::uint8_t>{'a', 'd', 'b', 'e', 'c', 'f', 0}));
  members[0].second = npy("|u1", "(1, 3, 1, 2)", "abcdef");
  members[2].second = npy("|u1", "(1, 3, 1, 2)", "ghijkl");
  source = open(members);
  EXPECT_EQ(source->info().shape, (ImageShape{3, 1, 2}));
  EXPECT_EQ(image(*source, Split::kTest, 0),
            (std::vector<std::uint8_t>{'g', 'h', 'i', 'j', 'k', 'l', 0}));
}

TEST_F(NpzTest, OneSetIsSplit) {
  const Members members{{"images.npy", npy("|u1", "(10, 1, 1)", bytes_from(0, 10))},
                        {"labels.npy", npy("|u1", "(10,)", std::string(10, '\0'))}};
  expect_error(ExitCode::kUsage, {"--test-split is missing"}, [&] { open(members); });
  NpzOptions options;
  options.test_split = 0.3;
  const auto source = open(members, options);
  EXPECT_EQ(source->info().train_count, 7U);
  EXPECT_EQ(source->info().test_count, 3U);
  std::vector<std::uint8_t> seen;
  for (std::uint64_t i = 0; i < 7; ++i) seen.push_back(image(*source, Split::kTrain, i)[0]);
  for (std::uint64_t i = 0; i < 3; ++i) seen.push_back(image(*source, Split::kTest, i)[0]);
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
  expect_error(ExitCode::kUsage, {"has a test set already"}, [&] { open(four_arrays(), options); });
}

TEST_F(NpzTest, ClassesBoundTheLabels) {
  NpzOptions options;
  options.classes = {"a", "b", "c", "d"};
  EXPECT_EQ(open(four_arrays(), options)->info().classes.size(), 4U);
  options.classes = {"a", "b"};
  expect_error(ExitCode::kBadData, {"the label 2", "0 to 1"},
               [&] { open(four_arrays(), options); });
}

TEST_F(NpzTest, ArraysThatDoNotFitAreRefused) {
  const auto with = [](std::size_t index, const std::string& content) {
    Members members = four_arrays();
    members[index].second = content;
    return members;
  };
  expect_refused({{"a.npy", npy("|u1", "(1,)", "x")}}, {"holds a.npy", "images and labels"});
  expect_refused(with(0, npy("<f4", "(3, 2, 2)", std::string(48, 'x'))),
                 {"train_images.npy", "'<f4'", "whole numbers", "(images * 255).round()"});
  expect_refused(with(0, npy("<i4", "(3, 2, 2)", std::string(48, 'x'))),
                 {"train_images.npy", "'<i4' [3, 2, 2]", "uint8"});
  expect_refused(with(0, npy("|u1", "(3, 2, 2, 2)", std::string(24, 'x'))),
                 {"[3, 2, 2, 2]", "1 or 3 channels"});
  expect_refused(with(0, npy("|u1", "(3, 0, 2)", "")), {"[3, 0, 2]"});
  expect_refused(with(1, npy("|u1", "(2,)", "ab")), {"train_labels.npy", "[2]", "[3]"});
  expect_refused(with(1, npy("|u1", "(3, 2)", "abcdef")), {"train_labels.npy", "[3, 2]"});
  expect_refused(with(1, npy("|i1", "(3,)", std::string("\0\xff\0", 3))),
                 {"label -1 of image 1", "0 to 255"});
  expect_refused(with(1, npy("<u2", "(3,)", std::string("\0\0\0\1\0\0", 6))),
                 {"label 256 of image 1"});
  expect_refused(with(2, npy("|u1", "(1, 2, 3)", "abcdef")), {"test_images.npy", "1x2x3", "1x2x2"});
  expect_refused(with(3, "text"), {"test_labels.npy", "the end"});
  expect_refused(with(3, "text that is long enough"), {"test_labels.npy", "'text tha'"});
  std::string fortran = npy("|u1", "(3, 2, 2)", bytes_from(0, 12));
  fortran.replace(fortran.find("False"), 5, "True ");
  expect_refused(with(0, fortran), {"Fortran order", "ascontiguousarray"});
}

TEST_F(NpzTest, SizesThatDoNotHoldAreRefused) {
  const auto train_images = [&](const std::string& content) {
    Members members = four_arrays();
    members[0].second = content;
    return members;
  };
  expect_refused(train_images(npy("|u1", "(3, 2, 2)", bytes_from(0, 11))),
                 {"train_images.npy", "found the end"});
  expect_refused(train_images(npy("|u1", "(3, 2, 2)", bytes_from(0, 13))),
                 {"train_images.npy", "more data"});
  // What the header alone shows to be wrong is told although the values are not there.
  expect_refused(train_images(npy("<i4", "(3000, 1000, 1000)", "")), {"'<i4'", "(uint8)"});
  Members members = four_arrays();
  members[1].second = npy("<i8", "(4000000000,)", "");
  expect_refused(members, {"train_labels.npy", "[4000000000]", "[3] was expected"});
  // What is only claimed is not there.
  expect_refused(train_images(npy("|u1", "(60000, 1000, 1000)", "")), {"found the end"});
  expect_refused(train_images(npy("|u1", "(68719476736, 68719476736)", "")), {"64 GiB"});
  expect_refused(train_images(npy("|u1", "(99999999999999999999, 1)", "")),
                 {"too large an extent"});
  for (const char* shape : {"3", "(3", "(a)", "(1 2)", "(1,,2)", "(1,)(", "(-1,)"}) {
    expect_refused(train_images(npy("|u1", shape, "")), {"numpy's header"});
  }
}

// A changed byte of an archive is noticed wherever it is: by the checksums, or as a wrong record.
TEST_F(NpzTest, CutAndChangedArchivesAreRefused) {
  const std::string whole = testing::zip(four_arrays(), true);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write_bytes(path_, whole.substr(0, size));
    expect_error(ExitCode::kBadData, {"blood.npz"}, [&] { open_npz(path_, {}); });
  }
  const std::size_t data = whole.find("train_images.npy") + 16 + 20;
  for (std::size_t at = data; at < data + 40; ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    write_bytes(path_, changed);
    expect_error(ExitCode::kBadData, {"blood.npz"}, [&] { open_npz(path_, {}); });
  }
}

TEST(SourceFile, MoreThanTheMemoryThatThereIsIsRefused) {
  const TempDir folder;
  testing::write_bytes(folder / "big", std::string(1000, 'x'));
  const auto read = [&](std::uint64_t available) {
    return read_exactly(*open_byte_stream(folder / "big"), "big", 1000, {},
                        MemoryRoom{available, false});
  };
  EXPECT_EQ(read(1000).size, 1000U);
  testing::expect_error(ExitCode::kBadData, {"big: takes", "memory of the host"},
                        [&] { read(999); });
}

TEST(NpyHeader, IsReadAsNumpyWritesIt) {
  const NpyHeader header = NpyHeader::parse(
      "{'descr': '<i8', 'fortran_order': False, 'shape': (12, 3), }          \n", "x");
  EXPECT_EQ(header.type, "<i8");
  EXPECT_FALSE(header.fortran_order);
  EXPECT_EQ(header.shape, (std::vector<std::uint64_t>{12, 3}));
  EXPECT_TRUE(
      NpyHeader::parse("{\"shape\":(),'fortran_order':True,'descr':'|b1'}", "x").shape.empty());
  expect_error(ExitCode::kBadData, {"lacks a key"},
               [] { NpyHeader::parse("{'descr': '<i8', 'shape': (1,)}", "x"); });
  expect_error(ExitCode::kBadData, {"other than a plain type"}, [] {
    NpyHeader::parse("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,)}", "x");
  });
}

}  // namespace
}  // namespace tandem::data
