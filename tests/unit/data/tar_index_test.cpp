// Archives as GNU tar and Python write them, and damaged ones.
#include "data/picture_sources/tar_index.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/picture_sources/tar_samples.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::tar_end;
using testing::tar_member;
using testing::TempDir;
using testing::write_bytes;
using Names = std::vector<std::string>;

std::string record(const std::string& text) {  // of an extended header
  std::size_t length = text.size() + 3;
  while (std::to_string(length).size() + text.size() + 2 != length) ++length;
  return std::to_string(length) + " " + text + "\n";
}

std::string with_checksum(std::string member) {
  unsigned sum = 0;
  member.replace(148, 8, "        ");
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(member[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  return member.replace(148, 7, digits, 7);
}

class Tar : public ::testing::Test {
 protected:
  // "NAME=CONTENT" of each regular member.
  Names members(const std::string& archive) {
    write_bytes(path_, archive);
    const File file = File::open_for_reading(path_);
    TarIndex index(file);
    Names found;
    for (TarMember member; index.next(member);) {
      if (!member.is_regular) continue;
      std::string content(member.bytes, '\0');
      content.resize(file.read_at(member.offset, content.data(), content.size()));
      EXPECT_EQ(index.content(member), content);
      found.push_back(member.name + "=" + content);
    }
    return found;
  }
  // "NAME=LABEL", or "NAME! FAULT".
  Names samples(const std::string& archive) {
    write_bytes(path_, archive + tar_end());
    const File file = File::open_for_reading(path_);
    TarSamples samples(file);
    Names found;
    for (TarSample sample; samples.next(sample);) {
      found.push_back(sample.name +
                      (sample.fault.empty() ? "=" + sample.label : "! " + sample.fault));
    }
    return found;
  }
  void refuses(const std::string& archive, const std::string& part) {
    expect_error(ExitCode::kBadData, {path_, part}, [&] { members(archive); });
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.tar";
};

TEST_F(Tar, MembersOfEachKindAreFound) {
  const std::string large(10'000, 'x');
  std::string prefixed = tar_member("name", "1");
  prefixed = with_checksum(prefixed.replace(345, 3, "far"));
  std::string label = tar_member("label.jpg", "", 'V');  // as tar --label writes it, without a size
  label = with_checksum(label.replace(124, 12, 12, '\0'));
  EXPECT_EQ(samples(label + tar_member("a.jpg", "1") + tar_member("a.cls", "7")), Names{"a.jpg=7"});
  EXPECT_EQ(
      members(tar_member("./a", "") + tar_member("folder/", "", '5') + tar_member("b", large) +
              tar_member("link", "", '2') + tar_member("old", "o", '\0') + prefixed +
              tar_member("c", std::string(512, 'c')) + tar_end()),
      (Names{"a=", "b=" + large, "old=o", "far/name=1", "c=" + std::string(512, 'c')}));
}

TEST_F(Tar, LongNamesAndSizesComeFromTheHeaderBefore) {
  const std::string longer(300, 'n');
  EXPECT_EQ(members(tar_member("././@LongLink", longer + '\0', 'L') + tar_member("nnn", "1") +
                    tar_member("next", "2") + tar_end()),
            (Names{longer + "=1", "next=2"}));
  EXPECT_EQ(members(tar_member("pax", record("mtime=1.5") + record("path=" + longer), 'x') +
                    tar_member("nnn", "1") + tar_member("next", "2") + tar_end()),
            (Names{longer + "=1", "next=2"}));
  std::string sized = tar_member("big", std::string(700, 'b'));
  EXPECT_EQ(members(tar_member("pax", record("size=700"), 'x') + sized + tar_end()),
            Names{"big=" + std::string(700, 'b')});
  EXPECT_EQ(
      members(tar_member("all", record("path=wrong"), 'g') + tar_member("a", "1") + tar_end()),
      Names{"a=1"});
}

TEST_F(Tar, EveryCutIsFound) {
  const std::string whole = tar_member("a", std::string(600, 'a')) + tar_member("b", "b");
  for (std::size_t size = 0; size < whole.size(); size += 100) {
    EXPECT_THROW(members(whole.substr(0, size)), DataError) << "cut to " << size;
  }
  refuses(whole, "at offset 2560: found the end");
  EXPECT_EQ(members(whole + std::string(512, '\0')).size(), 2U) << "one empty block is enough";
}

TEST_F(Tar, DamageIsNamed) {
  const std::string member = tar_member("a", "1");
  std::string damaged = member;
  damaged[3] = 'x';
  refuses(damaged + tar_end(), "at offset 0: found no header of a member, or a damaged one");
  refuses(member + tar_end() + member + tar_end(), "at offset 2048: found bytes after the mark");
  refuses(tar_member("pax", "99 path=x\n", 'x') + member + tar_end(), "a damaged extended header");
  refuses(tar_member("pax", "x", 'x') + member + tar_end(), "a damaged extended header");
  refuses(tar_member("pax", record("size=-1"), 'x') + member + tar_end(), "a damaged extended");
  refuses(tar_member("pax", record("size=99999"), 'x') + member + tar_end(),
          "the end, inside of a");
  refuses(member.substr(0, 700),
          "at offset 700: found the end, inside of a, expected 1,024 bytes at least");
  refuses(tar_member("pax", record("GNU.sparse.major=1"), 'x') + member + tar_end(), "sparse file");
  refuses(testing::gzip(member), "is compressed with gzip");
  refuses("\x28\xb5\x2f\xfd", "unzstd < ");
}

TEST_F(Tar, SamplesShareThePathUpToTheFirstDot) {
  const auto two = [](const std::string& name, const std::string& ending, const std::string& text) {
    return tar_member(name, "picture") + tar_member(name.substr(0, name.find('.')) + ending, text);
  };
  EXPECT_EQ(samples(two("a.jpg", ".cls", "7") + two("b.JPEG", ".txt", " cat \n") +
                    tar_member("readme", "x") + tar_member("__about__.cls", "x") +
                    two("c.png", ".json", R"({"label": 3, "cls": 4})") +
                    two("d.png", ".json", R"({"cls": "dog"})") + tar_member("d.mask.png", "x")),
            (Names{"a.jpg=7", "b.JPEG=cat", "c.png=3", "d.png=dog"}));
  EXPECT_EQ(samples(tar_member("a.txt", "a caption") + tar_member("a.cls", "7") +
                    tar_member("a.json", "{}") + tar_member("a.jpg", "x")),
            Names{"a.jpg=7"})
      << "cls counts before json, and json before txt";
  EXPECT_EQ(samples(tar_member("a.cls", "7") + tar_member("a.json", R"({"label": 1})") +
                    tar_member("a.txt", "cat") + tar_member("a.jpg", "x")),
            Names{"a.jpg=7"})
      << "whatever comes last";
  EXPECT_EQ(
      samples(tar_member("a.txt", "cat") + tar_member("a.json", "{}") + tar_member("a.jpg", "x")),
      Names{"a.jpg=cat"});
  EXPECT_EQ(samples(two("a.jpg", ".json", R"({"x": [NaN, -Infinity], "label": "NaN\"NaN"})")),
            Names{"a.jpg=NaN\"NaN"})
      << "as Python writes it";
}

TEST_F(Tar, FaultySamplesAreNamed) {
  const std::string label = tar_member("a.cls", "1");
  EXPECT_EQ(samples(tar_member("a.jpg", "x")),
            Names{"a.jpg! has no label beside it: a.cls, a.json with label or cls, or a.txt"});
  EXPECT_EQ(samples(label), Names{"a.cls! has no picture a.jpg, .jpeg or .png beside it; convert "
                                  "the picture"});
  EXPECT_EQ(samples(tar_member("a.jpg", "x") + tar_member("a.png", "x") + label),
            Names{"a.jpg! has a second picture, a.png; leave one of them out"});
  EXPECT_EQ(samples(tar_member("a.jpg", "", '2') + label),
            Names{"a.jpg! is a link or a device; store the file itself"});
  for (const auto& [content, fault] : std::vector<std::pair<std::string, std::string>>{
           {"[1]", "is not a JSON object, or is nested more than 64 levels deep"},
           {R"({"label": "1", "deep": )" + std::string(100, '[') + std::string(100, ']') + "}",
            "is not a JSON object, or is nested more than 64 levels deep"},
           {R"({"label": [1]})", "has a label that is neither a text nor a whole number"},
           {R"({"label": NaN})", "has a label that is neither a text nor a whole number"},
           {R"({"label": 1.5})", "has a label that is neither a text nor a whole number"}}) {
    EXPECT_EQ(samples(tar_member("a.jpg", "x") + tar_member("a.json", content)),
              Names{"a.jpg! its label a.json " + fault});
  }
  EXPECT_EQ(samples(tar_member("a.jpg", "x") + tar_member("a.cls", "-1")),
            Names{"a.jpg! its label a.cls is '-1', a whole number was expected"});
}

}  // namespace
}  // namespace tandem::data
