#include "tandem/data/image_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::from_hex;
using testing::read_golden;
using testing::TempDir;
using testing::write_bytes;

// The bytes of one of the golden files.
std::string golden_file(const std::string& name) {
  const Json golden = read_golden("pictures.json");
  for (const Json& file : golden.at("files")) {
    if (file.at("name") == name) return from_hex(file.at("hex").get<std::string>());
  }
  ADD_FAILURE() << "no golden file " << name;
  return "";
}

Picture read_picture(const std::string& path) {
  return decode_picture(read_picture_bytes(path), path);
}

// Decoders of JPEG may round differently from version to version, those of PNG may not.
TEST(ImageFile, EveryKindOfFileGivesWhatPillowReads) {
  const Json golden = read_golden("pictures.json");
  for (const Json& file : golden.at("files")) {
    const auto name = file.at("name").get<std::string>();
    const auto extent = file.at("shape").get<std::vector<int>>();
    const auto expected = file.at("values").get<std::vector<int>>();
    const ImageShape shape{extent[0], extent[1], extent[2]};
    std::vector<std::uint8_t> found(shape.pixels());
    fit_picture(decode_picture(from_hex(file.at("hex").get<std::string>()), name), shape,
                found.data());
    ASSERT_EQ(found.size(), expected.size());
    const int allowed = name.find(".jpg") == std::string::npos ? 0 : 3;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(std::abs(found[i] - expected[i]), allowed)
          << name << " as " << shape.text() << ", value " << i;
    }
  }
}

TEST(ImageFile, TheExtentIsThatOfThePicture) {
  TempDir folder;
  for (const char* name : {"grey.png", "colour.png", "palette.png", "grey.jpg", "cmyk.jpg"}) {
    const std::string bytes = golden_file(name);
    write_bytes(folder / name, bytes);
    const PictureExtent extent = read_picture_extent(folder / name);
    const Picture picture = read_picture(folder / name);
    EXPECT_EQ(extent.height, picture.height) << name;
    EXPECT_EQ(extent.width, picture.width) << name;
    EXPECT_EQ(extent.has_color, picture.channels >= 3) << name;
  }
}

// A camera's preview, between the beginning and the header: 70,000 bytes of comments.
TEST(ImageFile, TheExtentMayComeLateInTheFile) {
  TempDir folder;
  std::string bytes = golden_file("grey.jpg");
  const std::string comment =
      std::string("\xff\xfe\x88\xb8", 4) + std::string(0x88b8 - 2, 'x');  // 35,000 each
  bytes.insert(2, comment + comment);
  write_bytes(folder / "late.jpg", bytes);
  EXPECT_EQ(read_picture_extent(folder / "late.jpg").width, 11);
}

TEST(ImageFile, OtherFilesAreNamed) {
  TempDir folder;
  write_bytes(folder / "a.png", "");
  expect_error(ExitCode::kBadData, {"a.png", "an empty file", "PNG or JPEG", "or leave it out"},
               [&] { read_picture(folder / "a.png"); });
  write_bytes(folder / "b.jpg", "GIF89a and so on");
  expect_error(ExitCode::kBadData, {"b.jpg: is a GIF picture", "b.jpg[0]' ", "b.jpg.png"},
               [&] { read_picture(folder / "b.jpg"); });
  expect_error(ExitCode::kBadData, {"is a folder"}, [&] { read_picture(folder.path()); });
  expect_error(ExitCode::kMissingInput, {"absent.png"},
               [&] { read_picture(folder / "absent.png"); });
}

// Wherever a file is cut, it is refused.
TEST(ImageFile, CutFilesAreRefused) {
  for (const char* name : {"colour.png", "interlaced.png", "colour.jpg", "progressive.jpg"}) {
    const std::string whole = golden_file(name);
    for (std::size_t size = 8; size < whole.size(); ++size) {
      expect_error(ExitCode::kBadData, {"cut", "damaged", "whole one"},
                   [&] { decode_picture(whole.substr(0, size), "cut"); });
    }
  }
}

// One bit of a chunk's content or checksum, of every chunk: palette, transparency, pixels, end.
TEST(ImageFile, DamagedChunksOfPngAreRefused) {
  const Json golden = read_golden("pictures.json");
  int transparencies = 0;
  for (const Json& file : golden.at("files")) {
    const auto name = file.at("name").get<std::string>();
    const std::string whole = from_hex(file.at("hex").get<std::string>());
    if (whole.substr(1, 3) != "PNG") continue;
    constexpr std::size_t kBeforeContent = 8;  // length and type
    constexpr std::size_t kChecksum = 4;
    for (std::size_t at = 8; at < whole.size();) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        length = length << 8 | static_cast<unsigned char>(whole[at + i]);
      }
      transparencies += whole.substr(at + 4, 4) == "tRNS";
      std::string bytes = whole;
      char& changed = bytes[at + kBeforeContent + length / 2];
      changed = static_cast<char>(changed ^ 1);
      EXPECT_THROW(decode_picture(bytes, "x.png"), DataError)
          << name << " " << bytes.substr(at + 4, 4);
      at += kBeforeContent + length + kChecksum;
    }
  }
  EXPECT_GT(transparencies, 0);
}

// gray.jpg with other sides in its header.
std::string jpeg_claiming(const std::string& sides) {
  std::string jpeg = golden_file("grey.jpg");
  return jpeg.replace(jpeg.find(std::string("\xff\xc0", 2)) + 5, 4, sides);
}

TEST(ImageFile, TooLargePicturesAreRefused) {
  const std::string jpeg = jpeg_claiming("\xff\xdc\xff\xdc");
  expect_error(ExitCode::kBadData, {"x.jpg", "65500 x 65500", "67,108,864", "smaller"},
               [&] { decode_picture(jpeg, "x.jpg"); });
  expect_error(ExitCode::kBadData, {"x.jpg: is a picture of 65535 x 65535", "65500 on a side"},
               [&] { decode_picture(jpeg_claiming("\xff\xff\xff\xff"), "x.jpg"); });
  expect_error(ExitCode::kBadData, {"x.png: is a picture of 1000001 x 2", "1,000,000 on a side"},
               [&] { decode_picture(testing::png_claiming(2, 1'000'001), "x.png"); });
  const std::string png = golden_file("colour.png");  // 10 x 9
  EXPECT_EQ(decode_picture(png, "x.png", 90).width, 10);
  expect_error(ExitCode::kBadData, {"x.png", "10 x 9", "1 to 89"},
               [&] { decode_picture(png, "x.png", 89); });
}

// Sides that are allowed, in files that are too short for them: nothing is allocated.
TEST(ImageFile, ClaimsThatAFileCannotHoldAreRefusedBeforehand) {
  for (const std::string& file :
       {testing::png_claiming(8192, 8192), jpeg_claiming(std::string("\x20\0\x20\0", 4))}) {
    expect_error(ExitCode::kBadData, {"x: is a damaged", "so few bytes cannot hold the pixels"},
                 [&] { decode_picture(file, "x"); });
  }
  // What deflate can at most, a picture of one color, is taken.
  EXPECT_EQ(decode_picture(testing::png(2000, 2000, 1, std::string(4'000'000, 'x')), "x").width,
            2000);
}

TEST(ImageFile, MemoryThatIsNotThereIsAFaultOfTheFile) {
  expect_error(ExitCode::kBadData, {"x.png: needs more memory than is available"}, [] {
    decode_picture(golden_file("colour.png"), "x.png", kMaxPicturePixels,
                   [](std::uint64_t) { throw std::bad_alloc(); });
  });
}

// A scan takes a few bytes and a pass over the whole picture, and one that gives all bits of the
// means may be repeated.
TEST(ImageFile, EndlessScansAreRefused) {
  std::string bytes = golden_file("progressive.jpg");
  const std::size_t first = bytes.find(std::string("\xff\xda", 2));
  ASSERT_NE(first, std::string::npos);
  const std::size_t data = first + 2 + static_cast<unsigned char>(bytes[first + 3]);
  std::size_t end = bytes.find('\xff', data);
  while (bytes[end + 1] == '\0') end = bytes.find('\xff', end + 1);
  std::string scan = bytes.substr(first, end - first);
  scan[data - first - 1] = '\0';  // from bit 0 to bit 0
  const std::size_t end_of_image = bytes.size() - 2;
  std::string scans;
  for (int i = 0; i < 200; ++i) scans += scan;
  EXPECT_EQ(decode_picture(bytes.insert(end_of_image, scan), "x.jpg").width, 19);
  expect_error(ExitCode::kBadData, {"x.jpg", "more than 100 scans"},
               [&] { decode_picture(bytes.insert(end_of_image, scans), "x.jpg"); });
}

TEST(ImageFile, NamesOfPictures) {
  for (const char* name : {"a.png", "b.JPG", "c/d.Jpeg"}) EXPECT_TRUE(is_picture_name(name));
  for (const char* name : {"a.gif", "png", "a.png.txt"}) EXPECT_FALSE(is_picture_name(name));
}

}  // namespace
}  // namespace tandem::data
