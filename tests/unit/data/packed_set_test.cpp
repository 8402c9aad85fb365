// Sets in several files: what they hold together, and files that do not belong together.
#include "tandem/data/packed_set.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/data/set_packing.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;
using testing::all_of;
using testing::AllOf;
using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;
using testing::write_pictures;
using Parts = std::vector<std::uint64_t>;

class Set : public ::testing::Test {
 protected:
  void SetUp() override { write_pictures(folder_ / "pets", 3, 20); }

  PackRequest request(std::uint64_t files, const std::string& output = "set.h5") {
    PackRequest request;
    request.input = folder_ / "pets";
    request.output = folder_ / output;
    request.test_split = 0.2;
    request.store = Store::kEncoded;
    request.height = request.width = 8;
    request.files = files;
    return request;
  }
  // The parts that it packed.
  Parts pack_parts(const PackRequest& request) {
    SetPacking packing(request);
    const Parts missing = packing.missing_parts();
    packing.finish(packing.pack(missing));
    return missing;
  }
  std::string part(std::uint64_t number) { return part_path(folder_ / "set.h5", number); }
  std::string all() { return pattern_of_parts(folder_ / "set.h5"); }
  void refuses(const std::vector<std::string>& parts) {
    expect_error(ExitCode::kBadData, parts, [&] { PackedSet set(all()); });
  }

  TempDir folder_;
};

TEST_F(Set, HoldsTheListOfOneFile) {
  pack(request(0, "one.h5"));
  const AllOf one = all_of(folder_ / "one.h5");
  for (const std::uint64_t files : {1U, 3U, 4U}) {
    for (std::uint64_t i = 1; i <= 4; ++i) fs::remove(part(i));
    pack_parts(request(files));
    const PackedSet set(all());
    EXPECT_EQ(set.files().size(), files);
    EXPECT_EQ(set.info().parts, files);
    EXPECT_EQ(set.info().classes, one.info.classes);
    EXPECT_EQ(set.info().shape, one.info.shape);
    for (const Split split : {Split::kTrain, Split::kTest}) {
      const std::size_t i = index_of(split);
      ASSERT_EQ(set.info().count(split), one.info.count(split));
      ASSERT_EQ(set.info().encoded_bytes(split), one.bytes[i].size());
      std::vector<std::uint8_t> bytes(one.bytes[i].size());
      std::vector<PicturePlace> places(one.places[i].size());
      std::vector<Label> labels(places.size());
      set.read_encoded(split, bytes, places, labels);
      EXPECT_EQ(bytes, one.bytes[i]);
      EXPECT_EQ(labels, one.labels[i]);
      for (std::size_t k = 0; k < places.size(); ++k) {
        EXPECT_EQ(places[k].begin, one.places[i][k].begin);
        EXPECT_EQ(places[k].end, one.places[i][k].end);
        EXPECT_EQ(places[k].number, k);
      }
      std::vector<PicturePlace> without_bytes(places.size());
      std::vector<Label> again(places.size());
      set.read_index(split, without_bytes, again);
      EXPECT_EQ(again, labels);
      const PictureBlocks blocks(set.pictures(), 1, {});
      for (std::size_t k = 0; k < places.size(); ++k) {
        EXPECT_EQ(without_bytes[k].begin, places[k].begin);
        EXPECT_EQ(without_bytes[k].end, places[k].end);
        const std::uint64_t at = blocks.position(split, places[k].begin);
        const std::uint64_t end = at + places[k].end - places[k].begin;
        const PictureBlocks::Part read = blocks.read(at, end);
        EXPECT_EQ(read.bytes.substr(at - read.begin, end - at), one.file(i, k));
      }
      std::vector<std::uint8_t> images(5 * set.info().shape.pixels());
      std::vector<Label> five(5);
      set.read(split, 3, images, five);
      EXPECT_EQ(images,
                std::vector<std::uint8_t>(
                    one.images[i].begin() + static_cast<std::ptrdiff_t>(images.size() / 5 * 3),
                    one.images[i].begin() + static_cast<std::ptrdiff_t>(images.size() / 5 * 8)));
    }
    // Fewer than 256 pictures, so that a sample has all of them.
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(set.info().mean[channel], one.info.mean[channel], 1e-9);
      EXPECT_NEAR(set.info().std[channel], one.info.std[channel], 1e-9);
    }
    EXPECT_EQ(verify_dataset(all()).train_per_class, (std::vector<std::uint64_t>{16, 16, 16}));
  }
}

TEST_F(Set, BytesDoNotDependOnThreadsAndRestarts) {
  PackRequest first = request(4);
  first.threads = 4;
  pack_parts(first);
  std::vector<std::string> before;
  for (std::uint64_t i = 1; i <= 4; ++i) before.push_back(read_bytes(part(i)));
  fs::remove(part(2));
  fs::remove(part(3));
  PackRequest again = request(4);
  again.threads = 1;
  EXPECT_EQ(pack_parts(again), (Parts{2, 3}));
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(read_bytes(part(i)), before[i - 1]) << i;
  EXPECT_EQ(pack_parts(again), Parts());
}

TEST_F(Set, PartsOfOtherPicturesOrOptionsArePackedAgain) {
  pack_parts(request(3));
  PackRequest other = request(3);
  other.seed = 1;
  EXPECT_EQ(pack_parts(other), (Parts{1, 2, 3}));
  EXPECT_EQ(pack_parts(other), Parts());
  // A picture that was changed later than its part was written, and keeps its size.
  const std::string path = folder_ / "pets/class001/4.jpg";
  std::string bytes = read_bytes(path);
  write_bytes(path, bytes);
  fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(SetPacking(other).missing_parts().size(), 1U);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(SetPacking(other).missing_parts(), Parts());
  write_bytes(path, bytes + "x");
  EXPECT_EQ(SetPacking(other).missing_parts().size(), 3U) << "another size is another set";
  write_bytes(path, bytes);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  std::string damaged = read_bytes(part(2));
  damaged[damaged.size() - 1] ^= 1;
  write_bytes(part(2), damaged);
  EXPECT_EQ(pack_parts(other), Parts{2});
}

TEST_F(Set, MissingDoubledAndForeignFilesAreNamed) {
  pack_parts(request(4));
  expect_error(ExitCode::kBadData, {part(2) + ": is part 2 of 4 of a set", "set-*.h5"},
               [&] { PackedSet set(part(2)); });
  EXPECT_EQ(PackedSet(part(2), {}, PackedSet::Parts::kOne).info().part, 2U);
  EXPECT_EQ(verify_dataset(part(2)).info.part, 2U);
  const std::string third = read_bytes(part(3));
  fs::remove(part(3));
  refuses({part(3) + ": part 3 of 4 of the set is missing; copy it"});
  const auto refuses_two = [&](const std::string& fault) {
    expect_error(ExitCode::kBadData, {part(3) + ": part" + fault},
                 [&] { PackedSet set(part(1) + "," + part(2)); });
  };
  refuses_two(" 3 of 4 of the set is missing; copy it");  // the fourth lies beside the others
  const std::string fourth = read_bytes(part(4));
  fs::remove(part(4));
  refuses_two("s 3, 4 of 4 of the set are missing; copy them");
  write_bytes(part(3), third);
  write_bytes(part(4), fourth);
  refuses_two("s 3, 4 of 4 of the set are not given; give all of them: '" + folder_ / "set-*.h5'");
  fs::remove(part(3));
  fs::copy_file(part(2), part(3));
  refuses({part(3) + ": is part 2 of 4, as " + part(2) + " is"});
  PackRequest other = request(4, "other.h5");
  other.seed = 1;
  pack_parts(other);
  fs::copy_file(part_path(other.output, 3), part(3), fs::copy_options::overwrite_existing);
  refuses({part(3) + ": is a part of another set than " + part(1)});
  pack(request(0, "whole.h5"));
  fs::copy_file(folder_ / "whole.h5", part(3), fs::copy_options::overwrite_existing);
  refuses({part(3) + ": is a whole set in one file"});
  const std::string whole = folder_ / "whole.h5";
  fs::copy_file(whole, folder_ / "twin.h5");
  for (const std::string& second : {folder_ / "twin.h5", part(1)}) {
    expect_error(ExitCode::kBadData, {second + ": is ", " set than " + whole + ";"}, [&] {
      PackedSet set(std::vector<std::string>{whole, second});
    });
  }
  write_bytes(part(3), third);
  EXPECT_NO_THROW(PackedSet set(all()));
  fs::rename(part(3), folder_ / "set-000.h5");
  refuses({"set-000.h5: is part 3 of 4, but file 1 in the order of names"});
}

TEST_F(Set, DamagedPartIsNamed) {
  pack_parts(request(3));
  std::string bytes = read_bytes(part(2));
  const std::string picture = all_of(part(2)).file(0, 3);
  bytes[bytes.find(picture) + picture.size() / 2] ^= 1;
  write_bytes(part(2), bytes);
  EXPECT_NO_THROW(PackedSet set(all())) << "opening reads no pictures";
  expect_error(ExitCode::kBadData, {part(2) + ": block ", "is damaged"},
               [&] { verify_dataset(all()); });
  EXPECT_EQ(pack_parts(request(3)), Parts{2});
  EXPECT_NO_THROW(verify_dataset(all()));
}

TEST_F(Set, LaterFaultsOfTheSourceAreNamedAndListed) {
  pack_parts(request(3));
  write_bytes(folder_ / "pets/notes.txt", "notes");
  expect_error(ExitCode::kBadData, {"1 file cannot be packed", "notes.txt"},
               [&] { pack_parts(request(3)); });
  PackRequest skipping = request(3);
  skipping.skip_broken = true;
  EXPECT_EQ(pack_parts(skipping), Parts{1});
  EXPECT_EQ(PackedSet(all()).info().broken_files, 1U);
  EXPECT_EQ(pack_parts(skipping), Parts());
}

// Lists of 20 pictures for each split. `labelled`: how many of them have a label.
TEST_F(Set, OfManyLabelsNeedsOneInEachSplitAndNotInEachPart) {
  const auto write_list = [&](const std::string& name, const char* folder, int labelled) {
    std::string rows;
    for (int i = 0; i < 20; ++i) {
      const char* extension = i % 3 == 0 ? ".png," : ".jpg,";
      rows += "pets/class00" + (folder + ("/" + std::to_string(i))) + extension +
              (i < labelled ? "cat\n" : "\n");
    }
    write_bytes(folder_ / name, rows);
    return folder_ / name;
  };
  PackRequest asked = request(0);
  asked.multi_label = true;
  asked.test_split = 0;
  asked.input = write_list("train.csv", "0", 1);
  asked.test_input = write_list("test.csv", "1", 0);
  expect_error(ExitCode::kBadData, {"no picture for testing has a label"}, [&] { pack(asked); });
  EXPECT_FALSE(fs::exists(asked.output));
  asked.files = 2;
  expect_error(ExitCode::kBadData, {"/test/targets holds only 0, as it does in the other files"},
               [&] { pack_parts(asked); });
  write_list("test.csv", "1", 1);
  pack_parts(asked);
  EXPECT_EQ(verify_dataset(all()).test_per_class, std::vector<std::uint64_t>{1});
}

TEST_F(Set, BrokenPicturesAreListedOnceForAllParts) {
  for (int i = 0; i < 25; ++i) {
    write_bytes(folder_ / ("pets/class000/broken" + std::to_string(i) + ".jpg"), "no picture");
  }
  write_bytes(folder_ / "pets/notes.txt", "notes");
  const std::string list = broken_list_path(folder_ / "set.h5");
  expect_error(ExitCode::kBadData, {"26 files cannot be packed; " + list, "and 6 more"},
               [&] { pack_parts(request(4)); });
  const std::string lines = read_bytes(list);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 27);
  PackRequest skipping = request(4);
  skipping.skip_broken = true;
  pack_parts(skipping);
  EXPECT_EQ(PackedSet(all()).info().broken_files, 26U);
  const std::string again = read_bytes(list);
  EXPECT_EQ(std::count(again.begin(), again.end(), '\n'), 27);
  EXPECT_EQ(pack_parts(skipping), Parts());
  EXPECT_EQ(read_bytes(list), again) << "from the lists of the parts";
  EXPECT_FALSE(SetPacking(request(4)).missing_parts().empty()) << "a part without pictures";
}

// A file without read permission is broken, too, but tests may run as root.
TEST_F(Set, UnreadablePictureIsBroken) {
  fs::create_symlink("self.jpg", folder_ / "self.jpg");
  std::string rows = "self.jpg,cat\n" + std::string(300, 'x') + ".jpg,cat\n";
  for (int i = 0; i < 20; ++i) {
    rows += "pets/class000/" + std::to_string(i) + (i % 3 == 0 ? ".png,cat\n" : ".jpg,cat\n");
  }
  PackRequest asked = request(2);
  asked.input = folder_ / "list.csv";
  write_bytes(asked.input, rows);
  expect_error(ExitCode::kBadData, {"2 files cannot be packed"}, [&] { pack_parts(asked); });
  asked.skip_broken = true;
  pack_parts(asked);
  const std::string list = read_bytes(broken_list_path(asked.output));
  EXPECT_NE(list.find("self.jpg\tcannot be read: Too many levels"), std::string::npos) << list;
  EXPECT_NE(list.find("x.jpg\tcannot be read: File name too long"), std::string::npos) << list;
}

TEST_F(Set, SkippingIsNotOfferedIfAClassHasNoOtherPicture) {
  for (const auto& entry : fs::directory_iterator(folder_ / "pets/class001")) {
    write_bytes(entry.path(), "no picture");
  }
  for (const bool skips : {false, true}) {
    PackRequest asked = request(2);
    asked.skip_broken = skips;
    try {
      pack_parts(asked);
      ADD_FAILURE() << "not refused; skips: " << skips;
    } catch (const DataError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("and class class001 has no other for training"), std::string::npos)
          << message;
      EXPECT_EQ(message.find("--skip-broken"), std::string::npos) << message;
    }
  }
}

TEST_F(Set, WhatAPatternWouldNameTooIsRefused) {
  write_bytes(part(7), "anything");
  expect_error(ExitCode::kCannotCreate, {part(7), "set-*.h5"},
               [&] { SetPacking packing(request(6)); });
  expect_error(ExitCode::kUsage, {"--files: 13 files of 48 training pictures and 12", "at most 12"},
               [&] { SetPacking packing(request(13)); });
}

}  // namespace
}  // namespace tandem::data
