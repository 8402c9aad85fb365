// Picture files that are not in memory: what is read, how often, and what is kept.
#include "tandem/data/picture_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "block_table.hpp"
#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/picture_blocks.hpp"
#include "version2_writer.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPlenty = 1024 * kMiB;
constexpr std::uint32_t kPictures = 400;

// Gives requests of a list.
class Listed final : public Sampler {
 public:
  explicit Listed(std::vector<BatchRequest> requests) : requests_(std::move(requests)) {}
  std::optional<BatchRequest> next() override {
    if (next_ == requests_.size()) return std::nullopt;
    return requests_[next_++];
  }

 private:
  const std::vector<BatchRequest> requests_;
  std::size_t next_ = 0;
};

class PictureReaderTest : public ::testing::Test {
 protected:
  // Files of 20 to 120 KB that are no pictures, because nothing decodes them.
  void SetUp() override {
    CounterRandom random{9};
    {
      const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644);
      File output(descriptor, path_);
      Version2Writer writer(output, path_, Store::kEncoded);
      for (std::uint32_t i = 0; i < kPictures + 40; ++i) {
        std::vector<std::uint8_t> bytes(20'000 + random.below(100'000));
        for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
          const std::uint64_t value = random.next();
          std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), 8, bytes.begin() + at);
        }
        const std::vector<Label> labels{static_cast<Label>(i % 2)};
        writer.add(i < kPictures ? Split::kTrain : Split::kTest, bytes, labels);
      }
      writer.finish_pictures();
      DatasetInfo info;
      info.name = "noise";
      info.classes = {"a", "b"};
      info.shape = {3, 8, 8};
      info.mean = info.std = {0.5, 0.5, 0.5};
      info.source_sha256 = std::string(64, '0');
      writer.finish(info, {});
    }
    open();
  }

  void open() {
    const PackedFile file(path_);
    places_.resize(kPictures);
    labels_.resize(kPictures);
    file.read_index(Split::kTrain, places_, labels_);
    for (PicturePlace& place : places_) {
      place.begin += file.pictures_at(Split::kTrain);
      place.end += file.pictures_at(Split::kTrain);
    }
    table_ = file.block_table();
    bytes_ = read_bytes(path_);
  }

  ImagesView view(std::uint64_t cache_bytes) {
    blocks_ = std::make_shared<PictureBlocks>(path_, table_, cache_bytes, [this] { ++touched_; });
    return {{3, 8, 8}, {}, labels_, places_, path_ + ": /train", blocks_};
  }

  std::vector<BlockImages> images_of_file() { return images_of_blocks(view(1), table_, 0); }

  TrainingPlan plan(std::uint64_t batch, std::uint64_t epochs = 1) {
    TrainingPlan plan;
    plan.image_count = kPictures;
    plan.global_batch = batch;
    plan.seed = 4;
    plan.steps = epochs * plan.steps_per_epoch();
    plan.lanes = std::make_shared<const LaneOrder>(images_of_file(), 4, 16 * kMiB);
    return plan;
  }

  // Reads everything; returns the most that was kept.
  std::uint64_t read(PictureReader& reader, const TrainingPlan& plan, int rank = 0, int world = 1) {
    TrainingSampler expected(plan, rank, world);
    while (const auto request = reader.next()) {
      EXPECT_EQ(request->images, expected.next()->images);
      for (const std::uint32_t image : request->images) expect_right(reader.view(), image);
      for (const MixRun& run : request->mix_runs) expect_right(reader.view(), run.before);
    }
    EXPECT_FALSE(expected.next());
    return reader.most_bytes();
  }

  std::uint64_t read(const TrainingPlan& plan, std::uint64_t cache_bytes, int rank = 0,
                     int world = 1) {
    PictureReader reader(view(cache_bytes), std::make_unique<TrainingSampler>(plan, rank, world));
    return read(reader, plan, rank, world);
  }

  void expect_right(const ImagesView& view, std::uint32_t image) {
    const PicturePlace& place = view.places[image];
    EXPECT_TRUE(*view.files->file_of(place) == bytes_.substr(place.begin, place.end - place.begin))
        << "picture " << image;
  }

  std::uint64_t bytes_of_pictures() const { return places_.back().end - places_.front().begin; }

  // Cuts the pictures into blocks of another length.
  void cut_blocks(std::uint64_t length) {
    std::vector<Block> blocks;
    const BlockTable table = decode_block_table(table_, path_);
    for (const Block& block : table.blocks()) {
      const bool goes_on = !blocks.empty() && block.kind == BlockKind::kPictures &&
                           blocks.back().kind == BlockKind::kPictures;
      if (goes_on) {
        blocks.back().bytes += block.bytes;
      } else {
        blocks.push_back(block);
      }
    }
    std::vector<Block> cut;
    for (const Block& block : blocks) {
      for (std::uint64_t at = block.offset; at < block.end(); at += length) {
        const std::uint64_t some = std::min(length, block.end() - at);
        cut.push_back({at, some, block.kind, sha256_hex(bytes_.substr(at, some))});
      }
    }
    const std::string changed_table = encode_block_table(cut);
    std::string changed = bytes_.substr(0, bytes_.size() - table_.size()) + changed_table;
    testing::put_number(changed, 96, changed_table.size(), 8);
    write_bytes(path_, testing::with_user_block(changed));
    open();
  }

  const TempDir folder_;
  const std::string path_ = folder_ / "noise.h5";
  std::vector<PicturePlace> places_;
  std::vector<Label> labels_;
  std::string table_;
  std::string bytes_;
  std::shared_ptr<PictureBlocks> blocks_;
  std::atomic<int> touched_{0};
};

TEST_F(PictureReaderTest, BlocksEndWherePicturesEnd) {
  const std::vector<BlockImages> blocks = images_of_file();
  EXPECT_GT(blocks.size(), 12U);
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
  for (const BlockImages& each : blocks) {
    EXPECT_EQ(each.first, images);
    EXPECT_LE(each.bytes, 2 * kMiB);
    images += each.count;
    bytes += each.bytes;
  }
  EXPECT_EQ(images, kPictures);
  EXPECT_EQ(bytes, bytes_of_pictures());
  const BlockTable table = decode_block_table(table_, path_);
  std::vector<std::uint64_t> ends;
  for (const PicturePlace& place : places_) ends.push_back(place.end);
  for (const Block& block : table.blocks()) {
    if (block.kind != BlockKind::kPictures || block.offset > places_.back().begin) continue;
    EXPECT_TRUE(std::binary_search(ends.begin(), ends.end(), block.end()));
  }
}

TEST_F(PictureReaderTest, ReadsEachBlockOnceIfTheCacheHoldsWhatIsInUse) {
  const TrainingPlan one = plan(40);
  constexpr std::uint64_t kRequest = 40 * 120'000;
  const std::uint64_t enough = (one.lanes->bytes_in_use() + 2 * kRequest) * 8 / 7 + 8;
  ASSERT_GE(PictureReader::kept_of(PictureBlocks::first_share(enough), kRequest),
            one.lanes->bytes_in_use());
  for (const std::uint64_t cache : {kPlenty, enough}) {
    const std::uint64_t most = read(one, cache);
    EXPECT_EQ(blocks_->bytes_read(), bytes_of_pictures()) << cache;
    EXPECT_LE(most, cache);
  }
  EXPECT_GT(touched_, 10);
}

TEST_F(PictureReaderTest, ASmallCacheReadsMoreAndIsKept) {
  const TrainingPlan one = plan(10, 2);
  std::uint64_t before = bytes_of_pictures();
  for (const std::uint64_t cache : {12 * kMiB, 6 * kMiB, 3 * kMiB}) {
    EXPECT_LE(read(one, cache), cache);
    EXPECT_GT(blocks_->bytes_read(), 2 * before / 2) << cache;
    before = blocks_->bytes_read();
  }
  EXPECT_LT(before, bytes_of_pictures() * 2 * 15);
}

// Any room at all is enough: the requests at hand.
TEST_F(PictureReaderTest, WorksWithoutRoom) { read(plan(40), 1); }

TEST_F(PictureReaderTest, RanksShareTheFile) {
  for (const std::uint64_t batch : {8U, 64U}) {
    std::uint64_t all = 0;
    for (int rank = 0; rank < 2; ++rank) {
      read(plan(batch), kPlenty, rank, 2);
      all += blocks_->bytes_read();
      EXPECT_LT(blocks_->bytes_read(), bytes_of_pictures() * 6 / 10);
    }
    EXPECT_LE(all, bytes_of_pictures() * 11 / 10);  // of 4 lanes, parts of one twice
  }
}

TEST_F(PictureReaderTest, HasPartnersOfOtherRanks) {
  TrainingPlan mixed = plan(24);
  mixed.mixes = true;
  for (int rank = 0; rank < 5; ++rank) {
    read(mixed, kPlenty, rank, 5);
    read(mixed, 3 * kMiB, rank, 5);
  }
}

TEST_F(PictureReaderTest, ReadsConsecutiveImagesOnce) {
  PictureReader reader(view(kPlenty), std::make_unique<EvaluationSampler>(kPictures, 0, 1, 30));
  while (const auto request = reader.next()) {
    for (const std::uint32_t image : request->images) expect_right(reader.view(), image);
  }
  EXPECT_EQ(blocks_->bytes_read(), bytes_of_pictures());
}

TEST_F(PictureReaderTest, ReadsFilesWhoseBlocksEndElsewhere) {
  for (const std::uint64_t length : {std::uint64_t{1'000'003}, std::uint64_t{50'001}}) {
    cut_blocks(length);
    const TrainingPlan one = plan(40);
    read(one, kPlenty);
    read(one, 5 * kMiB);
    read(one, 5 * kMiB, 1, 3);
  }
}

TEST_F(PictureReaderTest, NamesADamagedBlock) {
  const std::uint32_t damaged = 200;
  bytes_[places_[damaged].begin + 5] ^= 1;
  write_bytes(path_, bytes_);
  std::vector<BatchRequest> requests(3);
  requests[0].images = {0, 1};
  requests[1].images = {damaged};
  requests[2].images = {2};
  PictureReader reader(view(kPlenty), std::make_unique<Listed>(requests));
  ASSERT_TRUE(reader.next());
  expect_right(reader.view(), 1);
  expect_error(ExitCode::kBadData, {"noise.h5: block ", "is damaged"}, [&] { reader.next(); });
  expect_error(ExitCode::kBadData, {"noise.h5: block ", "is damaged"},
               [&] { reader.view().files->file_of(places_[damaged]); });
}

TEST_F(PictureReaderTest, MayEndAtAnyTime) {
  const TrainingPlan one = plan(10);
  for (int taken = 0; taken < 5; ++taken) {
    PictureReader reader(view(8 * kMiB), std::make_unique<TrainingSampler>(one, 0, 1));
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(reader.next());
  }
}

TEST_F(PictureReaderTest, ReadersDivideTheCache) {
  const ImagesView all = view(80);
  EXPECT_EQ(blocks_->take_share(), 70U);
  EXPECT_EQ(blocks_->take_share(), 7U);
  blocks_->return_share(70);
  EXPECT_EQ(blocks_->take_share(), 63U);
}

}  // namespace
}  // namespace tandem::data
