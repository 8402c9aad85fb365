#include "tandem/train/image_store.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "split_memory.hpp"
#include "staged_pictures.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/packed_set.hpp"

namespace tandem::data {

TANDEM_JSON_STRUCT(ImageShape, channels, height, width)
TANDEM_JSON_STRUCT(DatasetInfo, name, classes, shape, mean, std, source_sha256, digest, train_count,
                   test_count, train_bytes, test_bytes, multi_label, sealed, parts, set_id,
                   broken_files, exif_orientation)

}  // namespace tandem::data

namespace tandem::train {
namespace {

using data::DatasetInfo;
using data::Split;

// The cache gets the free memory divided by this. Networks, batches and buffers need the rest.
constexpr std::uint64_t kShareForFiles = 2;

std::string to_text(const DatasetInfo& info) { return Json(info).dump(); }

// Every rank must be able to open the file, and sees by its first bytes, which hold the seal's
// digest, that it is the same as elsewhere, before one rank a host reads all of it.
std::string fingerprint(const std::string& path) {
  return sha256_hex(data::start_of_packed(path)).substr(0, 16);
}

// The first rank of each host opens the file and broadcasts its description.
DatasetInfo open_everywhere(const std::string& path, comm::MpiCommunicator& world,
                            comm::MpiCommunicator& node, std::optional<data::PackedSet>& file,
                            const Touch& touch) {
  std::string start;
  comm::agree(world, [&] { start = fingerprint(path); });
  call(touch);
  comm::require_equal(world, {{"SHA-256 of the beginning of the data set " + path, start}});
  comm::agree(world, [&] {
    if (node.rank() == 0) file.emplace(path, touch);
  });
  const std::string text = node.broadcast_string(file ? to_text(file->info()) : "");
  auto info = Json::parse(text).get<DatasetInfo>();
  comm::require_equal(world, {{"data set " + path, info.digest}});
  return info;
}

// A rank with a private copy opens the file by name again, and the file may have been replaced.
void require_same(const DatasetInfo& mine, const DatasetInfo& first, const std::string& path) {
  if (to_text(mine) == to_text(first)) return;
  throw DataError(path + ": holds the data set " + mine.digest.substr(0, 16) +
                  ", the first rank of this host has read " + first.digest.substr(0, 16) +
                  "; it was replaced while the ranks started: start again");
}

// Whether the rest of the job fits beside the images. If not, ranks read them from the file.
bool has_room_beside(const StoreOptions& options, const DatasetInfo& info, std::uint64_t images) {
  if (!options.before_reading) return true;
  try {
    options.before_reading(info, images);
    return true;
  } catch (const UnavailableError&) {  // thrown again if the rest does not fit beside a cache
    return false;
  }
}

// Collective. Returns the pictures of the first rank's `set` on all ranks.
std::vector<data::PackedPictures> share_pictures(comm::MpiCommunicator& node,
                                                 const data::PackedSet* set) {
  std::vector<data::PackedPictures> files;
  if (set != nullptr) files = set->pictures();
  files.resize(node.all_gather(std::uint64_t{files.size()}).front());
  for (data::PackedPictures& each : files) {
    each.path = node.broadcast_string(each.path);
    each.table = node.broadcast_string(each.table);
    each.begin = node.all_gather(each.begin).front();
    each.bytes = node.all_gather(each.bytes).front();
  }
  return files;
}

// Why the whole set must be in memory, and the fix, for a message.
struct NeedForAll {
  const char* cause;
  const char* fix;
};

NeedForAll need_for_all(const StoreOptions& options) {
  if (options.reading.lanes == 0) {
    return {"--read-lanes 0 shuffles all pictures, which take ",
            "--read-lanes 64, which reads them from the file, for a new run"};
  }
  return {"the run began with a version that shuffled all pictures of several files; they take ",
          "a host with more memory, or a new run, which reads them from the files"};
}

}  // namespace

bool StoreOptions::needs_all_of(const DatasetInfo& info) const {
  return !info.is_encoded() || reading.lanes_of(info) == 0;
}

ImageStore::ImageStore(const std::string& path, comm::MpiCommunicator& world,
                       comm::MpiCommunicator& node, const StoreOptions& options, const Touch& touch)
    : path_(path) {
  std::optional<data::PackedSet> file;
  info_ = open_everywhere(path, world, node, file, touch);
  memory_.emplace(allocate(world, node, options));
  std::vector<data::PackedPictures> pictures;
  if (info_.is_encoded()) pictures = share_pictures(node, file ? &*file : nullptr);
  comm::agree(world, [&] {
    if (!info_.is_encoded()) return;
    blocks_ = std::make_shared<data::PictureBlocks>(pictures, cache_bytes_, touch);
  });
  if (!has_files_ && !options.reading.stage.empty()) {
    stage_pictures(world, node, options.reading.stage, *blocks_);
  }
  comm::agree(world, [&] {
    if (!memory_->fills()) return;
    if (!file) {
      file.emplace(path, touch);
      require_same(file->info(), info_, path);
    }
    const SplitMemory train = memory_of(info_, Split::kTrain, has_files_, memory_->data());
    read_split(*file, Split::kTrain, blocks_.get(), train);
    read_split(*file, Split::kTest, blocks_.get(),
               memory_of(info_, Split::kTest, has_files_, memory_->data()));
    if (options.validation_share == 0) return;
    held_out_ = hold_out_of(info_, train, options.validation_share, path, touch);
  });
  held_out_ = world.all_reduce_value<std::uint64_t>(held_out_, comm::Reduction::kMax);
}

comm::NodeMemory ImageStore::allocate(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                                      const StoreOptions& options) {
  has_files_ = fits_memory(world, node, options);
  const auto require_room = [&] {
    bytes_ = data::MemoryLayout(info_, has_files_).all;
    const auto ranks = static_cast<std::uint64_t>(node.size());
    comm::agree(world, [&] {
      if (options.before_reading) options.before_reading(info_, bytes_ + cache_bytes_ * ranks);
    });
  };
  require_room();
  const auto most_ranks = world.all_reduce_value<std::int64_t>(node.size(), comm::Reduction::kMax);
  if (!has_files_ || options.needs_all_of(info_) || most_ranks == 1) {
    return comm::NodeMemory(world, node, bytes_);
  }
  // A copy of all files in each rank would take more memory than their caches.
  if (auto shared = comm::NodeMemory::share(world, node, bytes_)) return std::move(*shared);
  unshared_bytes_ = bytes_;
  has_files_ = false;
  set_cache(node, options);
  require_room();
  return comm::NodeMemory(world, node, bytes_);
}

// Alike on all hosts.
bool ImageStore::fits_memory(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                             const StoreOptions& options) {
  if (!info_.is_encoded()) return true;
  const std::uint64_t all = data::MemoryLayout(info_).all;
  const std::optional<MemoryRoom> room = memory_room();
  // The margin of NodeMemory.
  const bool has_room = !room || room->bytes >= all + all / 10;
  const bool is_limited =
      options.reading.cache_bytes > 0 && bytes_of_files() > options.reading.cache_bytes;
  const bool needs_all = options.needs_all_of(info_);
  bool fits = has_room && !is_limited;
  if (fits && options.reading.cache_bytes == 0 && !needs_all)
    fits = has_room_beside(options, info_, all);
  if (comm::is_true_everywhere(world, fits)) return true;
  comm::agree(world, [&] {
    if (!needs_all || fits) return;
    const NeedForAll need = need_for_all(options);
    throw UnavailableError(path_ + ": " + need.cause + format_bytes(all) + " of memory; " +
                           (has_room
                                ? "--cache-mb allows " + format_bytes(options.reading.cache_bytes)
                                : room->text()) +
                           "; fix: " + need.fix);
  });
  set_cache(node, options);
  return false;
}

void ImageStore::set_cache(comm::MpiCommunicator& node, const StoreOptions& options) {
  const std::optional<MemoryRoom> room = memory_room();
  const std::uint64_t free = room ? room->bytes / kShareForFiles : bytes_of_files();
  const std::uint64_t most = room ? room->bytes : options.reading.cache_bytes;
  const std::uint64_t cache =
      options.reading.cache_bytes > 0 ? std::min(options.reading.cache_bytes, most) : free;
  cache_bytes_ = std::max<std::uint64_t>(1, node.all_reduce_value(cache, comm::Reduction::kMin) /
                                                static_cast<std::uint64_t>(node.size()));
}

std::shared_ptr<const data::LaneOrder> ImageStore::lanes(const ReadingOptions& reading) const {
  const std::uint64_t lanes = reading.lanes_of(info_);
  if (!blocks_ || lanes == 0) return nullptr;
  return std::make_shared<const data::LaneOrder>(
      blocks_->images_of_blocks(view(Split::kTrain), Split::kTrain), lanes, reading.shuffle_bytes);
}

data::ImagesView ImageStore::view(Split split) const {
  const data::ImagesView all = all_of(split);
  return split == Split::kTrain ? all.part(0, info_.train_count - held_out_) : all;
}

data::ImagesView ImageStore::validation() const {
  return all_of(Split::kTrain).part(info_.train_count - held_out_, held_out_);
}

data::ImagesView ImageStore::all_of(Split split) const {
  const SplitMemory found = memory_of(info_, split, has_files_, memory_->data());
  return {info_.shape,
          found.images,
          found.labels,
          found.places,
          path_ + (split == Split::kTrain ? ": /train" : ": /test"),
          has_files_ ? nullptr : blocks_,
          found.targets};
}

}  // namespace tandem::train
