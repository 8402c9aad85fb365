#include "tandem/data/verify.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "data/packed/hdf5_handle.hpp"
#include "data/packed/packed_attributes.hpp"
#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/pack.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::names_in;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

class Verify : public ::testing::Test {
 protected:
  void SetUp() override {
    PackRequest request;
    request.input = "synthetic";
    request.output = path_;
    request.images = 100;
    packed_ = pack(request);
  }
  void unseal(const std::function<void(hid_t)>& change = [](hid_t) {}) {
    write_bytes(path_, read_bytes(path_).substr(512));
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    change(file.id());
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
  DatasetInfo packed_;
};

TEST_F(Verify, ReportsWhatTheFileHolds) {
  const VerifyReport report = verify_dataset(path_);
  EXPECT_EQ(report.info.digest, packed_.digest);
  EXPECT_EQ(report.file_bytes, read_bytes(path_).size());
  EXPECT_EQ(report.train_per_class, std::vector<std::uint64_t>(10, 10));
  EXPECT_EQ(report.test_per_class[0], 7U);
  EXPECT_EQ(report.test_per_class[9], 6U);
}

TEST_F(Verify, DamageInAnyChunkOfAnUnsealedFileIsFound) {
  unseal();
  std::string bytes = read_bytes(path_);
  bytes[bytes.size() / 4 * 3] ^= 64;  // in the test images, which come last
  write_bytes(path_, bytes);
  expect_error(ExitCode::kBadData, {"set.h5", "/test/images"}, [&] { verify_dataset(path_); });
}

TEST_F(Verify, MeanAndDeviationAreComputedAgain) {
  unseal([&](hid_t file) {
    H5Adelete(file, "std");
    write_reals(file, "std", {packed_.std[0], packed_.std[1], packed_.std[2] + 1e-4});
  });
  expect_error(ExitCode::kBadData, {"set.h5", "attribute std[2]", "the training images give"},
               [&] { verify_dataset(path_); });
}

TEST_F(Verify, SealAddsTheBlockAndKeepsTheDigest) {
  const std::string sealed = read_bytes(path_);
  unseal();
  const std::string unsealed = read_bytes(path_);
  const std::string digest = PackedFile(path_).info().digest;
  EXPECT_TRUE(seal(path_));
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"set.h5"});
  const PackedFile file(path_);
  EXPECT_TRUE(file.info().sealed);
  EXPECT_EQ(file.info().digest, digest);
  EXPECT_EQ(read_bytes(path_).substr(512), unsealed);
  std::vector<std::uint8_t> images(100 * 3072);
  std::vector<Label> labels(100);
  file.read(Split::kTrain, 0, images, labels);
  EXPECT_EQ(labels[99], 9);
}

TEST_F(Verify, SealKeepsALinkAndThePermissions) {
  namespace fs = std::filesystem;
  unseal();
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("set.h5", folder_ / "link.h5");
  EXPECT_TRUE(seal(folder_ / "lin?.h5"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.h5"));
  EXPECT_TRUE(PackedFile(path_).info().sealed);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Verify, SealingTwiceOrADamagedFileChangesNothing) {
  const std::string sealed = read_bytes(path_);
  EXPECT_FALSE(seal(path_));
  EXPECT_EQ(read_bytes(path_), sealed);
  unseal([](hid_t file) { H5Adelete(file, "complete"); });
  const std::string damaged = read_bytes(path_);
  expect_error(ExitCode::kBadData, {"complete"}, [&] { seal(path_); });
  EXPECT_EQ(read_bytes(path_), damaged);
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"set.h5"});
}

}  // namespace
}  // namespace tandem::data
