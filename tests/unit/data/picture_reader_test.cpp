// Picture files that are not in memory: what is read, how often, and what is kept.
#include "tandem/data/picture_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "data/pack/version2_writer.hpp"
#include "data/packed/block_table.hpp"
#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/picture_blocks.hpp"

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
  void SetUp() override {
    write({path_}, kPictures, 40);
    open({path_});
  }

  // Files of 20 to 120 KB that are no pictures, because nothing decodes them.
  static void write(const std::vector<std::string>& paths, std::uint32_t train,
                    std::uint32_t test) {
    CounterRandom random{9};
    for (const std::string& path : paths) {
      const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644);
      File output(descriptor, path);
      Version2Writer writer(output, path, Store::kEncoded);
      for (std::uint32_t i = 0; i < train + test; ++i) {
        std::vector<std::uint8_t> bytes(20'000 + random.below(100'000));
        for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
          const std::uint64_t value = random.next();
          std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), 8, bytes.begin() + at);
        }
        const std::vector<Label> labels{static_cast<Label>(i % 2)};
        writer.add(i < train ? Split::kTrain : Split::kTest, bytes, labels);
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
  }

  // As one set.
  void open(const std::vector<std::string>& paths) {
    places_.clear();
    labels_.clear();
    pictures_.clear();
    bytes_.clear();
    for (const std::string& path : paths) {
      const PackedFile file(path);
      std::vector<PicturePlace> places(file.info().train_count);
      std::vector<Label> labels(places.size());
      file.read_index(Split::kTrain, places, labels);
      for (PicturePlace& place : places) {
        place.begin += bytes_.size() + file.pictures_at(Split::kTrain);
        place.end += bytes_.size() + file.pictures_at(Split::kTrain);
      }
      pictures_.push_back({path,
                           file.block_table(),
                           {file.pictures_at(Split::kTrain), file.pictures_at(Split::kTest)},
                           {file.info().train_bytes, file.info().test_bytes}});
      bytes_ += read_bytes(path);
      bytes_.resize(bytes_.size() - pictures_.back().table.size());
      places_.insert(places_.end(), places.begin(), places.end());
      labels_.insert(labels_.end(), labels.begin(), labels.end());
    }
  }

  ImagesView view(std::uint64_t cache_bytes) {
    blocks_ = std::make_shared<PictureBlocks>(pictures_, cache_bytes, [this] { ++touched_; });
    return {{3, 8, 8}, {}, labels_, places_, path_ + ": /train", blocks_};
  }

  std::vector<BlockImages> images_of_file() {
    const ImagesView all = view(1);
    return blocks_->images_of_blocks(all, Split::kTrain);
  }

  TrainingPlan plan(std::uint64_t batch, std::uint64_t epochs = 1) {
    TrainingPlan plan;
    plan.image_count = static_cast<std::uint32_t>(places_.size());
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
    const BlockTable table = decode_block_table(pictures_.front().table, path_);
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
    std::string changed = bytes_ + changed_table;
    testing::put_number(changed, 96, changed_table.size(), 8);
    write_bytes(path_, testing::with_user_block(changed));
    open({path_});
  }

  const TempDir folder_;
  const std::string path_ = folder_ / "noise.h5";
  std::vector<PicturePlace> places_;
  std::vector<Label> labels_;
  std::vector<PackedPictures> pictures_;
  std::string bytes_;  // of all files, without their tables; places are offsets in it
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
  const BlockTable table = decode_block_table(pictures_.front().table, path_);
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
  ASSERT_GE(PictureReader::kept_of(PictureBlocks::reserved_of(enough), kRequest),
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
  std::string bytes = read_bytes(path_);
  bytes[places_[damaged].begin + 5] ^= 1;
  write_bytes(path_, bytes);
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

class SeveralFiles : public PictureReaderTest {
 protected:
  void SetUp() override { make(3, 130, 30); }

  void make(int files, std::uint32_t train, std::uint32_t test) {
    paths_.clear();
    for (int i = 0; i < files; ++i) {
      paths_.push_back(folder_ / ("set-" + std::to_string(files) + "-" + std::to_string(i)));
    }
    write(paths_, train, test);
    open(paths_);
  }

  // Places as PackedSet::read_encoded() gives them.
  ImagesView view_in_memory(std::vector<PicturePlace>& places) const {
    std::uint64_t end = 0;
    for (const PicturePlace& each : places_) {
      places.push_back({end, end + each.end - each.begin, each.number});
      end = places.back().end;
    }
    return {{3, 8, 8}, {}, labels_, places, "set: /train"};
  }

  // The position of the second file.
  std::uint64_t begin_of_second() const {
    return read_bytes(paths_[0]).size() - pictures_[0].table.size();
  }

  static std::size_t open_descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(open), end(open)));
  }

  std::vector<std::string> paths_;
};

TEST_F(SeveralFiles, HaveTheBlocksOfEachInTurn) {
  const std::vector<BlockImages> all = images_of_file();
  std::size_t next = 0;
  std::uint32_t before = 0;
  for (const std::string& path : paths_) {
    open({path});
    for (const BlockImages& each : images_of_file()) {
      ASSERT_LT(next, all.size());
      EXPECT_EQ(all[next].first, before + each.first);
      EXPECT_EQ(all[next].count, each.count);
      EXPECT_EQ(all[next].bytes, each.bytes);
      ++next;
    }
    before += static_cast<std::uint32_t>(places_.size());
  }
  EXPECT_EQ(next, all.size());
}

TEST_F(SeveralFiles, HaveTheSameBlocksInMemory) {
  const std::vector<BlockImages> expected = images_of_file();
  std::vector<PicturePlace> places;
  const std::vector<BlockImages> found =
      blocks_->images_of_blocks(view_in_memory(places), Split::kTrain);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, expected[i].first);
    EXPECT_EQ(found[i].count, expected[i].count);
    EXPECT_EQ(found[i].bytes, expected[i].bytes);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(blocks_->position(Split::kTrain, places[i].begin), places_[i].begin);
  }
}

TEST_F(SeveralFiles, AreReadOnceInAnEpoch) {
  std::uint64_t bytes = 0;
  for (const PackedPictures& each : pictures_) bytes += each.bytes[0];
  read(plan(40), kPlenty);
  EXPECT_EQ(blocks_->bytes_read(), bytes);
  EXPECT_LE(read(plan(10, 2), 6 * kMiB), 6 * kMiB);
  std::uint64_t both = 0;
  for (int rank = 0; rank < 2; ++rank) {
    read(plan(64), kPlenty, rank, 2);
    both += blocks_->bytes_read();
  }
  EXPECT_LE(both,
            bytes + bytes / 4 + 2 * kMiB);  // both read the lane at the border of their slices
}

TEST_F(SeveralFiles, ADamagedBlockNamesItsFile) {
  const std::uint32_t damaged = 130 + 70;
  std::string bytes = read_bytes(paths_[1]);
  const std::uint64_t before = begin_of_second();
  bytes[places_[damaged].begin - before + 5] ^= 1;
  write_bytes(paths_[1], bytes);
  const ImagesView all = view(kPlenty);
  expect_error(ExitCode::kBadData, {paths_[1] + ": block ", "is damaged"},
               [&] { all.files->file_of(places_[damaged]); });
  expect_right(all, 0);
  expect_right(all, 389);
}

TEST_F(SeveralFiles, FewAreOpenAtATime) {
  make(60, 2, 1);
  const ImagesView all = view(kPlenty);
  const std::size_t before = open_descriptors();
  for (std::uint32_t i = 0; i < places_.size(); ++i) expect_right(all, i);
  EXPECT_LE(open_descriptors() - before, 48U);
  for (std::uint32_t i = 0; i < places_.size(); ++i) expect_right(all, i);
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

TEST(Share, IsTheSmallestThatKeepsEnough) {
  const auto kept = [](std::uint64_t cache, std::uint64_t request) {
    return PictureReader::kept_of(PictureBlocks::reserved_of(cache), request);
  };
  for (const std::uint64_t request : {100U, 5'000U, 90'000U}) {
    for (const std::uint64_t needed : {1'000U, 77'777U, 1'000'000U}) {
      const std::uint64_t enough =
          PictureBlocks::min_bytes_for(PictureReader::share_for(needed, request));
      EXPECT_GE(kept(enough, request), needed);
      EXPECT_LT(kept(enough - 16, request), needed);
    }
  }
}

}  // namespace
}  // namespace tandem::data
