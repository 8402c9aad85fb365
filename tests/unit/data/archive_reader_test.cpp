// The gzip and tar readers under the sources.
#include "data/files/archive_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "data/files/byte_stream.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::gzip;
using testing::tar_end;
using testing::tar_member;
using testing::TempDir;
using testing::write_bytes;

std::string read_all(ByteStream& stream) {
  std::string content;
  std::string part(1000, '\0');
  std::size_t got = 0;
  do {
    got = stream.read(part.data(), part.size());
    content.append(part, 0, got);
  } while (got == part.size());
  return content;
}

std::string noise_text(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& byte : text) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

class Archive : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    const std::string path = folder_ / "input";
    write_bytes(path, bytes);
    return path;
  }
  ArchiveReader tar(const std::string& bytes) {
    return ArchiveReader(open_byte_stream(write(bytes)));
  }

  TempDir folder_;
};

TEST_F(Archive, PlainAndCompressedReadAlike) {
  const std::string content = noise_text(700'001);
  EXPECT_EQ(read_all(*open_byte_stream(write(content))), content);
  EXPECT_EQ(read_all(*open_byte_stream(write(gzip(content)))), content);
  EXPECT_EQ(read_all(*open_byte_stream(write(gzip("ab") + gzip("cd")))), "abcd");
  EXPECT_EQ(read_all(*open_byte_stream(write(gzip("")))), "");
}

TEST_F(Archive, NoMoreFollowsThanThereCanBe) {
  const std::string content(3'000'000, '\0');  // as much as gzip can make of a byte
  for (const std::string& bytes : {content, gzip(content)}) {
    const auto stream = open_byte_stream(write(bytes));
    std::string part(1009, '\0');
    for (std::size_t left = content.size(); left > 0;
         left -= stream->read(part.data(), part.size())) {
      ASSERT_GE(stream->most_left(), left);
      ASSERT_LE(stream->most_left(), bytes.size() * 1032 + 32 * 1024);
    }
  }
  ArchiveReader archive = tar(tar_member("a", "abc") + tar_member("b", "de") + tar_end());
  ASSERT_TRUE(archive.next());
  EXPECT_EQ(archive.most_left(), 3U);
  char letter = 0;
  archive.read(&letter, 1);
  EXPECT_EQ(archive.most_left(), 2U);
}

TEST_F(Archive, EveryTruncationOfGzipIsRefused) {
  const std::string whole = gzip(noise_text(600));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    EXPECT_THROW(read_all(*open_byte_stream(write(whole.substr(0, size)))), DataError) << size;
  }
}

TEST_F(Archive, DamagedGzipIsRefusedWithItsOffset) {
  std::string damaged = gzip(noise_text(5000));
  damaged[damaged.size() - 6] ^= 1;  // in the checksum at the end
  expect_error(ExitCode::kBadData, {"input", "at offset", "damaged gzip data"},
               [&] { read_all(*open_byte_stream(write(damaged))); });
  expect_error(ExitCode::kBadData, {"damaged gzip data"},
               [&] { read_all(*open_byte_stream(write(gzip("x") + "trailing text"))); });
}

TEST_F(Archive, BeginningsAreNamed) {
  EXPECT_EQ(describe_beginning(""), "an empty file");
  EXPECT_EQ(describe_beginning(gzip("x")), "gzip data");
  EXPECT_NE(describe_beginning("\n <!DOCTYPE html>").find("web page"), std::string::npos);
  EXPECT_EQ(describe_beginning("hello\nworld"), "text that begins with 'hello'");
  EXPECT_EQ(describe_beginning("tandem-dataset\n"), "a packed data set");
  EXPECT_EQ(describe_beginning("\x93NUMPY\1"), "an array of numpy");
  EXPECT_EQ(describe_beginning(std::string("BM\x36\x03\0\0\0\0\0\0\x36", 11)), "a BMP picture");
  EXPECT_EQ(describe_beginning("BMW and other cars"), "text that begins with 'BMW and other cars'");
  EXPECT_EQ(describe_beginning(std::string("RIFF\x5c\1\0\0WEBPVP8 ", 16)), "a WebP picture");
  EXPECT_EQ(describe_beginning("GIF89a\x01"), "a GIF picture");
  EXPECT_EQ(describe_beginning(std::string("II*\0", 4)), "a TIFF picture");
  EXPECT_EQ(describe_beginning(std::string("MM\0*", 4)), "a TIFF picture");
  EXPECT_EQ(describe_beginning(std::string("\0\0\0\x1c"
                                           "ftypavif",
                                           12)),
            "an AVIF picture");
  EXPECT_EQ(describe_beginning("\xff\xd8\xff\xe0"), "a JPEG picture");
  EXPECT_EQ(foreign_picture("\xff\xd8\xff\xe0"), "");
  EXPECT_EQ(foreign_picture("GIF8"), "a GIF picture");
  EXPECT_EQ(describe_beginning(std::string("\0\1\xFF", 3)), "data that begins with 00 01 ff");
}

TEST_F(Archive, MembersComeInOrderAndUnreadContentIsSkipped) {
  ArchiveReader reader = tar(tar_member("d/", "", '5') + tar_member("d/a", noise_text(1000)) +
                             tar_member("d/b", "bee") + tar_member("empty", "") + tar_end());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.name(), "d/a");
  EXPECT_EQ(reader.size(), 1000U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.name(), "d/b");
  EXPECT_EQ(read_all(reader), "bee");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(read_all(reader), "");
  EXPECT_FALSE(reader.next());
}

TEST_F(Archive, ExtendedHeadersAreHeeded) {
  ArchiveReader reader = tar(tar_member("x", "28 mtime=1795261038.6991296\n12 path=d/b\n", 'x') +
                             tar_member("a", "content") + tar_end());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.name(), "d/b");
  EXPECT_EQ(read_all(reader), "content");
}

TEST_F(Archive, MembersThatReachOutsideAreRefused) {
  const auto refuse = [&](const std::string& member, const std::string& part) {
    ArchiveReader reader = tar(member + tar_end());
    expect_error(ExitCode::kBadData, {"at offset 0", part}, [&] { reader.next(); });
  };
  refuse(tar_member("/etc/passwd", "x"), "'/etc/passwd'");
  refuse(tar_member("a/../../b", "x"), "'a/../../b'");
  refuse(tar_member("symbolic", "", '2'), "'symbolic', a link");
  refuse(tar_member("hard", "", '1'), "'hard', a link");
  refuse(tar_member("terminal", "", '3'), "'terminal', a link, device");
  refuse(tar_member("x", "13 path=/a/b\n", 'x') + tar_member("a", "x"), "'/a/b'");
  refuse(tar_member("x", "22 GNU.sparse.size=10\n26 GNU.sparse.map=0,1,9,1\n", 'x') +
             tar_member("a", "xy"),
         "sparse file");
}

TEST_F(Archive, DamagedTarIsRefused) {
  const std::string member = tar_member("a", noise_text(600));
  const auto read_through = [&](const std::string& bytes) {
    ArchiveReader reader = tar(bytes);
    while (reader.next()) {
    }
  };
  std::string flipped = member + tar_end();
  flipped[3] ^= 4;
  expect_error(ExitCode::kBadData, {"Unrecognized archive"}, [&] { read_through(flipped); });
  expect_error(ExitCode::kBadData, {"at offset 1536", "Damaged tar archive"},
               [&] { read_through(member + flipped); });
  expect_error(ExitCode::kBadData, {"found the end"}, [&] {
    read_through(tar_member("x", "12 size=999\n", 'x') + member.substr(0, 700));
  });
  expect_error(ExitCode::kBadData, {"another size"}, [&] {
    ArchiveReader reader = tar(tar_member("x", "22 GNU.sparse.size=99\n", 'x') + member);
    reader.next();
    read_all(reader);
  });
  expect_error(ExitCode::kBadData, {"found the end"}, [&] { read_through(member); });
  expect_error(ExitCode::kBadData, {"found the end", "at offset 700"},
               [&] { read_through(member.substr(0, 700)); });
}

// The checksum at the end of the gzip data comes after the last member.
TEST_F(Archive, EndOfArchiveProvesTheCompressedData) {
  std::string packed = gzip(tar_member("a", "content") + tar_end());
  packed[packed.size() - 5] ^= 1;
  expect_error(ExitCode::kBadData, {"damaged gzip data"}, [&] {
    ArchiveReader reader = tar(packed);
    while (reader.next()) {
    }
  });
}

}  // namespace
}  // namespace tandem::data
