// Packing files of pictures as they are: broken ones, what each check finds, and the built-in set.
#include "data/pack/encoded_pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/pictures/broken_files.hpp"
#include "data/pictures/picture_structure.hpp"
#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/image_file.hpp"
#include "tandem/data/pack.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::data {
namespace {

using testing::all_of;
using testing::AllOf;
using testing::expect_error;
using testing::names_in;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;
using testing::write_pictures;

class EncodedPack : public ::testing::Test {
 protected:
  void SetUp() override { write_pictures(folder_ / "pets", 2, 10); }

  PackRequest request(PictureCheck check = PictureCheck::kDecode) {
    PackRequest request;
    request.input = folder_ / "pets";
    request.output = path_;
    request.test_split = 0.2;
    request.store = Store::kEncoded;
    request.height = request.width = 8;
    request.picture_check = check;
    return request;
  }
  // Some byte of the coded data of a picture, which a decoder notices.
  void spoil(const std::string& name) {
    std::string bytes = read_bytes(folder_ / name);
    const std::size_t at = bytes.size() - 12;
    bytes.replace(at, 4, "\xff\xd0\xff\xd0");  // markers of restarts, where there are none
    write_bytes(folder_ / name, bytes);
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
};

// Pictures of another source. The first reads return once `at_once` of them have begun, or after
// ten seconds.
class WaitingSource : public EncodedSource {
 public:
  WaitingSource(std::unique_ptr<EncodedSource> source, int at_once)
      : source_(std::move(source)), at_once_(at_once) {}

  int most() const { return most_; }

  std::string read(Split split, std::uint64_t index,
                   const std::function<void(std::uint64_t)>& before) override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      most_ = std::max(most_, ++reading_);
      changed_.notify_all();
      changed_.wait_for(lock, std::chrono::seconds(has_waited_ ? 0 : 10),
                        [&] { return most_ >= at_once_; });
      has_waited_ = true;
      --reading_;
    }
    return source_->read(split, index, before);
  }
  const DatasetInfo& info() const override { return source_->info(); }
  std::vector<Label> labels(Split split, std::uint64_t index) const override {
    return source_->labels(split, index);
  }
  std::string where(Split split, std::uint64_t index) const override {
    return source_->where(split, index);
  }
  PictureStamp stamp(Split split, std::uint64_t index) const override {
    return source_->stamp(split, index);
  }
  const BrokenFiles& broken() const override { return source_->broken(); }
  const std::string& root() const override { return source_->root(); }
  std::string source_sha256(const PictureNumbers& packed) const override {
    return source_->source_sha256(packed);
  }

 private:
  const std::unique_ptr<EncodedSource> source_;
  const int at_once_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int reading_ = 0, most_ = 0;
  bool has_waited_ = false;
};

TEST_F(EncodedPack, ReadsAsManyPicturesAheadAsItDecodes) {
  for (const auto& [check, readers] :
       {std::pair(PictureCheck::kDecode, 4), std::pair(PictureCheck::kStructure, 2)}) {
    EncodedFolderOptions options;
    options.test_split = 0.2;
    WaitingSource source(open_encoded_folder(folder_ / "pets", options), readers);
    PackRequest two = request(check);
    two.threads = 2;
    pack_encoded(two, source, {}, [] {});
    EXPECT_EQ(source.most(), readers);
  }
}

TEST_F(EncodedPack, BrokenPicturesAreListedOrLeftOut) {
  for (int i = 0; i < 25; ++i) {
    write_bytes(folder_ / ("pets/class000/broken" + std::to_string(i) + ".jpg"), "no picture");
  }
  write_bytes(folder_ / "pets/class001/notes.txt", "notes");
  const std::string list = broken_list_path(path_);
  for (const PictureCheck check : {PictureCheck::kDecode, PictureCheck::kStructure}) {
    expect_error(ExitCode::kBadData, {"26 files cannot be packed", list, "and 6 more"},
                 [&] { pack(request(check)); });
    EXPECT_FALSE(std::filesystem::exists(path_));
    const std::string lines = read_bytes(list);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 27);
  }
  PackRequest skipping = request();
  skipping.skip_broken = true;
  const DatasetInfo info = pack(skipping);
  EXPECT_EQ(info.broken_files, 26U);
  const AllOf all = all_of(path_);
  EXPECT_EQ(all.info.broken_files, 26U);
  EXPECT_EQ(all.info.train_count + all.info.test_count + 25, 45U);
  EXPECT_NE(read_bytes(path_).find("class001/notes.txt\t"), std::string::npos);
}

TEST_F(EncodedPack, ClassWithoutAWholePictureIsAnError) {
  for (const std::string& file : files_below(folder_ / "pets/class001")) write_bytes(file, "x");
  for (const bool skips : {true, false}) {
    PackRequest asked = request();
    asked.skip_broken = skips;
    try {
      pack(asked);
      ADD_FAILURE() << "not refused";
    } catch (const DataError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("class class001 has no other for training"), std::string::npos);
      EXPECT_EQ(message.find("--skip-broken"), std::string::npos) << "it would be refused";
    }
  }
}

TEST_F(EncodedPack, StructureLeavesDamagedPixelsToTheReader) {
  spoil("pets/class000/1.jpg");
  expect_error(ExitCode::kBadData, {"1 file cannot be packed", "class000/1.jpg"},
               [&] { pack(request()); });
  PackRequest quick = request(PictureCheck::kStructure);
  quick.keep_order = true;
  pack(quick);
  EXPECT_NO_THROW(verify_dataset(path_)) << "the file is as it was packed";
  expect_error(ExitCode::kBadData, {"set.h5: /train: picture ", "damaged JPEG"},
               [&] { all_of(path_); });
}

TEST_F(EncodedPack, ImagesOfTooManyValuesAreRefusedOnceAPictureHasColor) {
  pack(request());
  const std::string before = read_bytes(path_);
  PackRequest large = request();
  large.height = large.width = 700;
  expect_error(ExitCode::kUsage, {"--size", "3x700x700", "577x577 in color"}, [&] { pack(large); });
  EXPECT_EQ(read_bytes(path_), before);
  large.channels = 1;
  EXPECT_EQ(pack(large).shape.text(), "1x700x700");
  EXPECT_NO_THROW(verify_dataset(path_));
}

TEST_F(EncodedPack, ListsBelowAFolderNamedLikeAnArchiveAreLists) {
  std::filesystem::rename(folder_ / "pets", folder_ / "my.target");
  std::string rows;
  for (const std::string& file : files_below(folder_ / "my.target/class000")) rows += file + ",a\n";
  write_bytes(folder_ / "my.target/list.csv", rows);
  PackRequest listed = request();
  listed.input = folder_ / "my.target/list.csv";
  EXPECT_EQ(pack(listed).train_count, 8U);
}

TEST_F(EncodedPack, PathOfAListMayHaveDoubledSlashes) {
  std::string rows;
  for (const std::string& file : names_in(folder_ / "pets/class000")) rows += file + ",a\n";
  write_bytes(folder_ / "pets/class000/list.csv", rows);
  PackRequest listed = request();
  listed.input = folder_ / "pets//class000//list.csv";
  EXPECT_EQ(pack(listed).train_count, 8U);
}

TEST_F(EncodedPack, ProgressNamesEveryPicture) {
  std::vector<std::uint64_t> seen;
  PackRequest told = request();
  told.on_progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_EQ(all, 20U);
    seen.push_back(done);
  };
  pack(told);
  ASSERT_EQ(seen.size(), 20U);
  EXPECT_EQ(seen.front(), 1U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(EncodedPack, OtherFormsHaveNoFiles) {
  testing::write_mnist(folder_ / "raw", 30, 12);
  PackRequest mnist = request();
  mnist.input = folder_ / "raw";
  mnist.test_split = 0;
  mnist.height = mnist.width = 0;
  expect_error(ExitCode::kUsage, {"--store encoded", "mnist"}, [&] { pack(mnist); });
  PackRequest large = request();
  large.height = large.width = 600;
  expect_error(ExitCode::kUsage, {"--size", "3x600x600", "224x224"}, [&] {
    large.channels = 3;
    pack(large);
  });
}

TEST_F(EncodedPack, GrayPicturesMakeAGraySet) {
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    write_bytes(folder_ / (std::string("gray/") + name), testing::png(1, 2, 1, {0, 9}));
  }
  PackRequest gray = request();
  gray.input = folder_ / "gray";
  gray.test_split = 0.5;
  EXPECT_EQ(pack(gray).shape, (ImageShape{1, 8, 8}));
}

TEST_F(EncodedPack, BuiltInPicturesOfAnySize) {
  PackRequest drawn = request();
  drawn.input = "synthetic";
  drawn.test_split = 0;
  drawn.images = 30;
  drawn.height = 40;
  drawn.width = 24;
  const DatasetInfo info = pack(drawn);
  EXPECT_EQ(info.train_count, 30U);
  EXPECT_EQ(info.test_count, 64U);
  const std::string first = read_bytes(path_);
  pack(drawn);
  EXPECT_EQ(read_bytes(path_), first);
  const AllOf all = all_of(path_);
  EXPECT_EQ(all.info.shape, (ImageShape{3, 40, 24}));
  EXPECT_EQ(verify_dataset(path_).train_per_class, std::vector<std::uint64_t>(10, 3));
  const Picture picture = decode_picture(all.file(0, 0), "");
  EXPECT_EQ(picture.height, 40);
  EXPECT_EQ(picture.width, 24);
  drawn.seed = 1;
  pack(drawn);
  EXPECT_NE(read_bytes(path_), first);
}

TEST(PictureStructure, SeesWhatTheHeaderSays) {
  const TempDir folder;
  write_pictures(folder / "pets", 1, 12);
  for (const std::string& path : files_below(folder / "pets")) {
    const PictureExtent expected = read_picture_extent(path);
    const PictureExtent found = check_picture_structure(read_bytes(path), path);
    EXPECT_EQ(found.height, expected.height) << path;
    EXPECT_EQ(found.width, expected.width) << path;
    EXPECT_EQ(found.has_color, expected.has_color) << path;
    EXPECT_EQ(found.orientation, expected.orientation) << path;
  }
}

TEST(PictureStructure, EveryCutIsFound) {
  const TempDir folder;
  write_pictures(folder / "pets", 1, 2);
  for (const std::string& path : files_below(folder / "pets")) {
    const std::string whole = read_bytes(path);
    EXPECT_NO_THROW(check_picture_structure(whole + "more", path));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW(check_picture_structure(whole.substr(0, size), path), DataError)
          << path << " cut to " << size;
    }
  }
  expect_error(ExitCode::kBadData, {"x: is", "a PNG or JPEG file was expected"},
               [] { check_picture_structure("GIF89a", "x"); });
}

}  // namespace
}  // namespace tandem::data
