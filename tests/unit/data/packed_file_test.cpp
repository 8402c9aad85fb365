#include "tandem/data/packed_file.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "data/packed/hdf5_handle.hpp"
#include "data/packed/packed_attributes.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "data_fixtures.hpp"
#include "support/failing_calls.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

constexpr std::uint64_t kImages = 300;  // more than a chunk

struct DatasetShape {
  std::vector<hsize_t> extent;
  hid_t type = H5T_NATIVE_UINT8;
  bool chunked = true;
  bool fletcher32 = true;
  bool gzip = false;
  bool scale_offset = false;
  bool write = true;
};

// A dataset of zeros in the place of the one that is there.
void replace_dataset(hid_t file, const char* path, const DatasetShape& shape) {
  H5Ldelete(file, path, H5P_DEFAULT);
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const auto rank = static_cast<int>(shape.extent.size());
  if (shape.chunked) {
    std::vector<hsize_t> chunk = shape.extent;
    if (chunk[0] > 100) chunk[0] = 100;
    H5Pset_chunk(creation.id(), rank, chunk.data());
  }
  if (shape.scale_offset) H5Pset_scaleoffset(creation.id(), H5Z_SO_INT, 0);
  if (shape.gzip) {
    H5Pset_shuffle(creation.id());
    H5Pset_deflate(creation.id(), 1);
  }
  if (shape.fletcher32) H5Pset_fletcher32(creation.id());
  const Hdf5Handle space(H5Screate_simple(rank, shape.extent.data(), nullptr), H5Sclose);
  const Hdf5Handle dataset(
      H5Dcreate2(file, path, shape.type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
      H5Dclose);
  ASSERT_TRUE(dataset);
  if (!shape.write) return;
  std::size_t values = 1;
  for (const hsize_t extent : shape.extent) values *= extent;
  const std::vector<std::uint8_t> zeros(values * 8);
  ASSERT_GE(H5Dwrite(dataset.id(), shape.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()), 0);
}

void replace_attribute(hid_t file, const char* name, const std::function<void()>& write) {
  ASSERT_GE(H5Adelete(file, name), 0);
  write();
}

// A file of `classes` as fixed-length strings, as h5py writes numpy arrays of type S.
void write_fixed_strings(hid_t file, const char* name, const std::string& text, hsize_t count) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), text.size() / count);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Handle attribute(
      H5Acreate2(file, name, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  H5Awrite(attribute.id(), type.id(), text.data());
}

class PackedFileTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TempDir folder;
    PackRequest request;
    request.input = "synthetic";
    request.output = folder / "set.h5";
    request.images = kImages;
    request.seed = 3;
    packed_ = pack(request);
    bytes_ = read_bytes(request.output);
  }
  void SetUp() override { write_bytes(path_, bytes_); }

  // Takes the user block away and lets `change` edit what HDF5 has left.
  void edit(const std::function<void(hid_t)>& change) {
    write_bytes(path_, bytes_.substr(512));
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_TRUE(file);
    change(file.id());
  }

  void expect_refused(const std::vector<std::string>& parts,
                      const std::function<void(hid_t)>& change) {
    SCOPED_TRACE(parts.back());
    edit(change);
    expect_error(ExitCode::kBadData, parts, [&] { PackedFile file(path_); });
  }

  inline static DatasetInfo packed_;
  inline static std::string bytes_;
  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
};

TEST_F(PackedFileTest, TellsThatItsProofAdvances) {
  int touches = 0;
  const PackedFile file(path_, [&] { ++touches; });
  EXPECT_GE(touches, 1);
}

TEST_F(PackedFileTest, GivesBackWhatWasPacked) {
  const PackedFile file(path_);
  EXPECT_TRUE(file.info().sealed);
  EXPECT_EQ(file.info().digest, packed_.digest);
  EXPECT_EQ(file.info().name, "synthetic");
  EXPECT_EQ(file.info().classes, packed_.classes);
  EXPECT_EQ(file.info().mean, packed_.mean);
  EXPECT_EQ(file.info().std, packed_.std);
  EXPECT_EQ(file.info().source_sha256, packed_.source_sha256);
  EXPECT_EQ(file.info().train_count, kImages);
  EXPECT_EQ(file.info().test_count, 64U);

  const auto source = make_synthetic(kImages, 3);
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const std::uint64_t count = file.info().count(split) - 13;
    std::vector<std::uint8_t> images(count * 3072);
    std::vector<Label> labels(count);
    std::vector<std::uint8_t> expected_images(images.size());
    std::vector<Label> expected_labels(count);
    file.read(split, 11, images, labels);
    source->read(split, 11, count, expected_images.data(), expected_labels.data());
    EXPECT_EQ(images, expected_images);
    EXPECT_EQ(labels, expected_labels);
  }
}

TEST_F(PackedFileTest, AFileThatIsReplacedIsReadToItsEnd) {
  const PackedFile file(path_);
  write_bytes(folder_ / "next.h5", "another data set");
  std::filesystem::rename(folder_ / "next.h5", path_);
  std::vector<std::uint8_t> images(kImages * 3072);
  std::vector<std::uint8_t> expected(images.size());
  std::vector<Label> labels(kImages);
  file.read(Split::kTrain, 0, images, labels);
  make_synthetic(kImages, 3)->read(Split::kTrain, 0, kImages, expected.data(), labels.data());
  EXPECT_EQ(images, expected);
}

TEST_F(PackedFileTest, AFileThatIsWrittenToIsRefused) {
  const PackedFile file(path_);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // times of files are no finer
  std::fstream(path_, std::ios::in | std::ios::out).put(bytes_.front());
  std::vector<std::uint8_t> images(3072);
  std::vector<Label> labels(1);
  expect_error(ExitCode::kBadData, {path_, "was written to while it was read"},
               [&] { file.read(Split::kTrain, 0, images, labels); });
}

TEST_F(PackedFileTest, RangesOutsideAreErrorsOfTheCaller) {
  const PackedFile file(path_);
  std::vector<std::uint8_t> images(5 * 3072);
  std::vector<Label> labels(5);
  const auto read = [&](std::uint64_t first, std::size_t count, std::size_t bytes) {
    file.read(Split::kTest, first, {images.data(), bytes}, {labels.data(), count});
  };
  read(64, 0, 0);
  EXPECT_THROW(read(60, 5, 5 * 3072), InternalError);
  EXPECT_THROW(read(~std::uint64_t{0}, 2, 2 * 3072), InternalError);
  EXPECT_THROW(read(0, 5, 5 * 3072 - 1), InternalError);  // room for images of another shape
}

TEST_F(PackedFileTest, FileWithoutUserBlockIsAcceptedAsUnsealed) {
  edit([](hid_t) {});
  const PackedFile file(path_);
  EXPECT_FALSE(file.info().sealed);
  EXPECT_EQ(file.info().train_count, kImages);
}

// What users who pack with h5py may write otherwise than tandem does.
TEST_F(PackedFileTest, OtherWaysToWriteTheLayoutAreAccepted) {
  edit([&](hid_t file) {
    std::string classes;
    for (const std::string& name : packed_.classes) {
      classes += name + std::string(12 - name.size(), '\0');
    }
    replace_attribute(file, "classes", [&] { write_fixed_strings(file, "classes", classes, 10); });
    replace_attribute(file, "name", [&] { write_fixed_strings(file, "name", "h\xC3\xA9llo", 1); });
    DatasetShape shape{{64, 3, 32, 32}};
    shape.gzip = true;
    replace_dataset(file, "/test/images", shape);
  });
  const PackedFile file(path_);
  EXPECT_EQ(file.info().classes, packed_.classes);
  EXPECT_EQ(file.info().name, "h\xC3\xA9llo");
}

TEST_F(PackedFileTest, WrongAttributesAreRefused) {
  expect_refused({"set.h5", "attribute complete", "missing"},
                 [](hid_t file) { H5Adelete(file, "complete"); });
  expect_refused({"attribute complete", "not written to its end"}, [](hid_t file) {
    replace_attribute(file, "complete", [&] { write_integer(file, "complete", 0); });
  });
  expect_refused({"attribute version", "is 3", "versions 1 and 2"}, [](hid_t file) {
    replace_attribute(file, "version", [&] { write_integer(file, "version", 3); });
  });
  expect_refused({"attribute shape is missing"}, [](hid_t file) {
    replace_attribute(file, "version", [&] { write_integer(file, "version", 2); });
  });
  expect_refused({"attribute format", "'other'"}, [](hid_t file) {
    replace_attribute(file, "format", [&] { write_string(file, "format", "other"); });
  });
  expect_refused({"attribute version", "another type"}, [](hid_t file) {
    replace_attribute(file, "version", [&] { write_string(file, "version", "1"); });
  });
  for (const char* name : {"a/b", "..", "", "\x1b[2J", "\xC3"}) {
    expect_refused({"attribute name", "without '/'"}, [&](hid_t file) {
      replace_attribute(file, "name", [&] { write_string(file, "name", name); });
    });
  }
  for (const auto& classes :
       {std::vector<std::string>(1000, std::string(101, 'x')), std::vector<std::string>(9, "a\nb"),
        std::vector<std::string>(9, "\xED\xA0\x80"), std::vector<std::string>(9, "\xC0\xAF")}) {
    expect_refused({"attribute classes", "class name 1"}, [&](hid_t file) {
      replace_attribute(file, "classes", [&] { write_strings(file, "classes", classes); });
    });
  }
  expect_refused({"attribute classes", "1001 values"}, [](hid_t file) {
    replace_attribute(file, "classes",
                      [&] { write_strings(file, "classes", std::vector<std::string>(1001, "x")); });
  });
  for (const double mean : {-0.1, 1.1, 125.3, std::nan("")}) {
    expect_refused({"attribute mean", "[0, 1]"}, [&](hid_t file) {
      replace_attribute(file, "mean", [&] { write_reals(file, "mean", {0.5, 0.5, mean}); });
    });
  }
  expect_refused({"attribute std", "holds 0"}, [](hid_t file) {
    replace_attribute(file, "std", [&] { write_reals(file, "std", {0.2, 0, 0.2}); });
  });
  expect_refused({"mean and std hold 1 and 3 values, 3"}, [](hid_t file) {
    replace_attribute(file, "mean", [&] { write_reals(file, "mean", {0.5}); });
  });
  expect_refused({"attribute source_sha256", "64 lower-case hex digits"}, [](hid_t file) {
    replace_attribute(file, "source_sha256", [&] { write_string(file, "source_sha256", "0"); });
  });
}

TEST_F(PackedFileTest, WrongStructureIsRefused) {
  const DatasetShape test_images{{64, 3, 32, 32}};
  const auto refuse_images = [&](const std::string& part,
                                 const std::function<void(DatasetShape&)>& change) {
    expect_refused({"set.h5", "/test/images", part}, [&](hid_t file) {
      DatasetShape shape = test_images;
      change(shape);
      replace_dataset(file, "/test/images", shape);
    });
  };
  refuse_images("uint8", [](DatasetShape& shape) { shape.type = H5T_NATIVE_INT8; });
  refuse_images("uint8", [](DatasetShape& shape) { shape.type = H5T_NATIVE_FLOAT; });
  refuse_images("4 are expected", [](DatasetShape& shape) { shape.extent = {64, 3072}; });
  refuse_images("not stored in chunks",
                [](DatasetShape& shape) { shape.chunked = shape.fletcher32 = false; });
  refuse_images("fletcher32=True", [](DatasetShape& shape) { shape.fletcher32 = false; });
  refuse_images("filter 6", [](DatasetShape& shape) { shape.scale_offset = true; });
  refuse_images("not written to its end", [](DatasetShape& shape) { shape.write = false; });
  refuse_images("1 to 10,000,000", [](DatasetShape& shape) {
    shape.extent[0] = 10'000'001;
    shape.write = false;
  });
  refuse_images("more than 1,000,000", [](DatasetShape& shape) {
    shape.extent = {64, 3, 1000, 1000};
    shape.write = false;
  });
  expect_refused({"/test/images", "differ in shape"}, [](hid_t file) {
    replace_dataset(file, "/test/images", {{64, 1, 32, 32}});
  });
  expect_refused({"/test/labels", "63 labels, 64"},
                 [](hid_t file) { replace_dataset(file, "/test/labels", {{63}}); });
  expect_refused({"/test/labels", "missing"},
                 [](hid_t file) { H5Ldelete(file, "/test/labels", H5P_DEFAULT); });
  expect_refused({"/train", "missing"}, [](hid_t file) { H5Ldelete(file, "/train", H5P_DEFAULT); });
}

TEST_F(PackedFileTest, LinksThatLeaveTheFileAreRefused) {
  expect_refused({"/test/images", "link"}, [](hid_t file) {
    H5Ldelete(file, "/test/images", H5P_DEFAULT);
    H5Lcreate_soft("/train/images", file, "/test/images", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused({"/test", "link"}, [](hid_t file) {
    H5Ldelete(file, "/test", H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/test", file, "/test", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused({"/test/images", "chunks in this file"}, [&](hid_t file) {  // a virtual dataset
    H5Ldelete(file, "/test/images", H5P_DEFAULT);
    const std::vector<hsize_t> extent = {64, 3, 32, 32};
    const Hdf5Handle space(H5Screate_simple(4, extent.data(), nullptr), H5Sclose);
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_virtual(creation.id(), space.id(), "other.h5", "/test/images", space.id());
    const Hdf5Handle dataset(H5Dcreate2(file, "/test/images", H5T_STD_U8LE, space.id(), H5P_DEFAULT,
                                        creation.id(), H5P_DEFAULT),
                             H5Dclose);
  });
}

TEST_F(PackedFileTest, LabelWithoutClassIsRefused) {
  expect_refused({"/train/labels[3] is 3", "0 to 2"}, [](hid_t file) {
    replace_attribute(file, "classes", [&] { write_strings(file, "classes", {"a", "b", "c"}); });
  });
}

// HDF5 itself takes a read that fails for a damaged file.
TEST_F(PackedFileTest, ReadThatFailsIsNoDamage) {
  constexpr int kMaxReads = 1000;
  int reads = 0;
  for (bool fails = true; fails; ++reads) {
    ASSERT_LT(reads, kMaxReads);
    const testing::FailOnce fault("read", "set.h5", EIO, reads);
    try {
      const PackedFile file(path_);
      fails = false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kIo) << "read " << reads << ": " << error.what();
    }
  }
  EXPECT_GT(reads, 10) << "HDF5's reads failed as well";
}

// Without a user block the checksums of the chunks are all there is.
TEST_F(PackedFileTest, DamagedChunkIsRefusedWhenRead) {
  edit([](hid_t) {});
  std::string bytes = read_bytes(path_);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(path_, bytes);
  const PackedFile file(path_);
  std::vector<std::uint8_t> images(kImages * 3072);
  std::vector<Label> labels(kImages);
  expect_error(ExitCode::kBadData, {"set.h5: /train/images: chunk 1 at offset", "checksum"},
               [&] { file.read(Split::kTrain, 0, images, labels); });
}

}  // namespace
}  // namespace tandem::data
