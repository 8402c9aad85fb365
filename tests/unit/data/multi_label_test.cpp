// Multi-label sets: what a packed file of version 2 holds, batches of it, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "data/augment/mixing.hpp"
#include "data/picture_sources/encoded_source.hpp"
#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/pack.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/packed_set.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::resealed;
using testing::TempDir;
using testing::write_bytes;

constexpr std::size_t kClasses = 10;

class MultiLabelFile : public ::testing::Test {
 protected:
  void SetUp() override {
    pack(request());
    bytes_ = read_bytes(path_);
  }

  PackRequest request() {
    PackRequest request;
    request.input = "synthetic";
    request.output = path_;
    request.images = 40;
    request.store = Store::kEncoded;
    request.multi_label = true;
    request.keep_order = true;
    request.height = request.width = 16;
    return request;
  }

  std::vector<std::uint8_t> targets(Split split) {
    const PackedFile file(path_);
    std::vector<std::uint8_t> found(file.info().count(split) * kClasses);
    file.read_targets(split, 0, found);
    return found;
  }

  std::size_t place_of(const std::vector<std::uint8_t>& targets) {
    const std::string wanted(targets.begin(), targets.end());
    const std::size_t found = bytes_.find(wanted);
    EXPECT_NE(found, std::string::npos);
    return found;
  }

  void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
    write_bytes(path_, bytes);
    expect_error(ExitCode::kBadData, parts, [&] { PackedSet set(path_); });
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
  std::string bytes_;
};

TEST_F(MultiLabelFile, HoldsTheClassesOfEachPicture) {
  const auto source = make_encoded_synthetic(40, 0, 16, 16, true);
  const PackedFile file(path_);
  EXPECT_TRUE(file.info().multi_label);
  std::set<std::size_t> counts;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const std::vector<std::uint8_t> found = targets(split);
    const std::vector<Label> labels = file.labels(split);
    for (std::uint64_t i = 0; i < file.info().count(split); ++i) {
      std::vector<Label> classes;
      for (std::size_t c = 0; c < kClasses; ++c) {
        if (found[i * kClasses + c] == 1) classes.push_back(static_cast<Label>(c));
      }
      EXPECT_EQ(classes, source->labels(split, i));
      EXPECT_EQ(labels[i], classes.empty() ? 0 : classes.front());
      counts.insert(classes.size());
    }
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{0, 1, 2, 3}));
}

TEST_F(MultiLabelFile, VerifyCountsTheImagesOfEachClass) {
  const std::vector<std::uint8_t> found = targets(Split::kTrain);
  const VerifyReport report = verify_dataset(path_);
  for (std::size_t c = 0; c < kClasses; ++c) {
    std::uint64_t images = 0;
    for (std::size_t i = c; i < found.size(); i += kClasses) images += found[i];
    EXPECT_EQ(report.train_per_class[c], images);
  }
}

TEST_F(MultiLabelFile, ShowsItsFigures) {
  PackRequest one_label = request();
  one_label.output = folder_ / "one.h5";
  one_label.multi_label = false;
  EXPECT_FALSE(pack(one_label).multi_label);
  // A picture without figures is flat but for slope and noise; one with figures is not.
  const PackedFile file(path_);
  const std::size_t pixels = file.info().shape.pixels();
  std::vector<std::uint8_t> images(40 * pixels);
  std::vector<Label> labels(40);
  file.read(Split::kTrain, 0, images, labels);
  const std::vector<std::uint8_t> found = targets(Split::kTrain);
  double spread[2] = {};
  double count[2] = {};
  for (std::size_t i = 0; i < 40; ++i) {
    const auto row = found.begin() + static_cast<std::ptrdiff_t>(i * kClasses);
    const bool has_figure = std::find(row, row + kClasses, 1) != row + kClasses;
    const std::uint8_t* image = images.data() + i * pixels;
    const double mean = std::accumulate(image, image + pixels, 0.0) / static_cast<double>(pixels);
    for (std::size_t p = 0; p < pixels; ++p) {
      spread[has_figure] += (image[p] - mean) * (image[p] - mean);
    }
    count[has_figure] += static_cast<double>(pixels);
  }
  ASSERT_GT(count[0] * count[1], 0);
  EXPECT_GT(spread[1] / count[1], 1.2 * spread[0] / count[0]);
}

TEST_F(MultiLabelFile, RefusesOtherTargets) {
  const std::size_t at = place_of(targets(Split::kTrain));
  std::string two = bytes_;
  two[at + 23] = 2;
  expect_refused(two, {"set.h5", "is damaged"});
  expect_refused(resealed(two), {"/train/targets[2][3] is 2", "0 or 1 is expected"});
  std::string none = bytes_;
  std::fill_n(none.begin() + static_cast<std::ptrdiff_t>(at), 400, '\0');
  expect_refused(resealed(none), {"/train/targets holds only 0"});
}

TEST_F(MultiLabelFile, BatchesHaveMixedTargets) {
  const std::vector<std::uint8_t> found = targets(Split::kTrain);
  std::vector<std::uint8_t> images(40 * 12);
  std::vector<Label> labels(40);
  ImagesView view;
  view.shape = {3, 2, 2};
  view.images = images;
  view.labels = labels;
  view.targets = found;
  const Transform transform(view.shape, Layout::kPlanar, {0, 0, 0}, {1, 1, 1});
  BatchRequest request;
  request.images = {3, 1, 7};
  const Batch plain = make_batch(view, transform, {}, request);
  for (std::size_t i = 0; i < 3; ++i) {
    const Span<const std::uint8_t> own = view.targets_of(request.images[i]);
    EXPECT_TRUE(std::equal(own.begin(), own.end(), plain.targets.begin() + i * kClasses));
  }
  request.mix_runs = {{3, 3, 5}};
  const Batch mixed = make_batch(view, transform, {AugmentSpec::parse("mixup=0.5"), 9}, request);
  EXPECT_TRUE(mixed.other_labels.empty());
  ASSERT_EQ(mixed.targets.size(), 3 * kClasses);
  const std::vector<std::uint32_t> partners{5, 3, 1};
  const float own_share = draw_mix(AugmentSpec::parse("mixup=0.5"), view.shape, 9, 0, 3).own;
  std::size_t mixed_targets = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Span<const std::uint8_t> own = view.targets_of(request.images[i]);
    const Span<const std::uint8_t> other = view.targets_of(partners[i]);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const float target = mixed.targets[i * kClasses + c];
      if (own[c] == other[c]) {
        EXPECT_EQ(target, own[c]);
        continue;
      }
      EXPECT_EQ(own[c] == 1 ? target : 1 - target, own_share);
      ++mixed_targets;
    }
  }
  EXPECT_GT(mixed_targets, 3U);
  EXPECT_NE(own_share, 0.5F);
}

TEST(MultiLabelPack, IsForTheBuiltInPicturesOnly) {
  const TempDir folder;
  PackRequest request;
  request.input = "synthetic";
  request.output = folder / "set.h5";
  request.multi_label = true;
  expect_error(ExitCode::kUsage, {"--multi-label", "--store encoded"}, [&] { pack(request); });
}

}  // namespace
}  // namespace tandem::data
