#include "tandem/train/image_store.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "tandem/comm/agree.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/hold_out.hpp"
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
                            comm::MpiCommunicator& node, const comm::Topology& topology,
                            std::optional<data::PackedSet>& file, const Touch& touch) {
  std::string start;
  comm::agree(world, topology.host, [&] { start = fingerprint(path); });
  call(touch);
  comm::require_equal(world, {{"SHA-256 of the beginning of the data set " + path, start}});
  comm::agree(world, topology.host, [&] {
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

struct SplitMemory {
  Span<std::uint8_t> images;
  Span<data::PicturePlace> places;
  Span<data::Label> labels;
  Span<std::uint8_t> targets;
};

// `has_files`: of a set of picture files, whether they are in the memory.
SplitMemory memory_of(const DatasetInfo& info, Split split, bool has_files, std::uint8_t* memory) {
  const data::MemoryLayout layout(info, has_files);
  const bool is_train = split == Split::kTrain;
  const std::size_t count = info.count(split);
  const std::size_t before = is_train ? 0 : info.train_count;
  const auto labels = reinterpret_cast<data::Label*>(memory + layout.labels) + before;
  const std::size_t classes = info.multi_label ? info.classes.size() : 0;
  const Span<std::uint8_t> targets(memory + layout.targets + before * classes, count * classes);
  if (!info.is_encoded()) {
    const std::size_t pixels = info.shape.pixels();
    return {{memory + before * pixels, count * pixels}, {}, {labels, count}, targets};
  }
  const auto places = reinterpret_cast<data::PicturePlace*>(memory + layout.places) + before;
  if (!has_files) return {{}, {places, count}, {labels, count}, targets};
  return {{memory + (is_train ? 0 : info.train_bytes), info.encoded_bytes(split)},
          {places, count},
          {labels, count},
          targets};
}

// Only one file is read without its pictures.
void read_split(const data::PackedSet& file, Split split, const SplitMemory& to) {
  if (!to.places.empty() && to.images.empty()) {
    const data::PackedFile& only = file.files().front();
    only.read_index(split, to.places, to.labels);
    for (data::PicturePlace& place : to.places) {
      place.begin += only.pictures_at(split);
      place.end += only.pictures_at(split);
    }
  } else if (file.info().is_encoded()) {
    file.read_encoded(split, to.images, to.places, to.labels);
  } else {
    file.read(split, 0, to.images, to.labels);
  }
  if (!to.targets.empty()) file.read_targets(split, to.targets);
}

// In a set of picture files, only their places change.
std::uint64_t hold_out_of(const DatasetInfo& info, const SplitMemory& train, double share,
                          const std::string& path, const Touch& touch) {
  if (info.multi_label) {  // the labels decide, and are moved last
    std::vector<data::Label> labels(train.labels.begin(), train.labels.end());
    data::hold_out(share, info.classes.size(), train.targets, labels, path, touch);
  }
  if (!info.is_encoded()) {
    return data::hold_out(share, info.shape.pixels(), train.images, train.labels, path, touch);
  }
  constexpr std::size_t kBytes = sizeof(data::PicturePlace);
  const Span<std::uint8_t> places(reinterpret_cast<std::uint8_t*>(train.places.data()),
                                  train.places.size() * kBytes);
  return data::hold_out(share, kBytes, places, train.labels, path, touch);
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

}  // namespace

ImageStore::ImageStore(const std::string& path, comm::MpiCommunicator& world,
                       comm::MpiCommunicator& node, const comm::Topology& topology,
                       const StoreOptions& options, const Touch& touch)
    : path_(path), memory_([&] {
        std::optional<data::PackedSet> file;
        info_ = open_everywhere(path, world, node, topology, file, touch);
        if (info_.is_encoded() && info_.parts <= 1) {
          share_table(node, file ? &file->files().front() : nullptr);
        }
        const bool has_files = fits_memory(world, node, topology, options);
        bytes_ = data::MemoryLayout(info_, has_files).all;
        comm::agree(world, topology.host, [&] {
          if (!options.before_reading) return;
          options.before_reading(info_,
                                 bytes_ + cache_bytes_ * static_cast<std::uint64_t>(node.size()));
        });
        comm::NodeMemory memory(world, node, bytes_);
        comm::agree(world, topology.host, [&] {
          if (!has_files) {
            files_ = std::make_shared<data::PictureBlocks>(file_path_, table_, cache_bytes_, touch);
          }
          if (!memory.fills()) return;
          if (!file) {
            file.emplace(path, touch);
            require_same(file->info(), info_, path);
          }
          const SplitMemory train = memory_of(info_, Split::kTrain, has_files, memory.data());
          read_split(*file, Split::kTrain, train);
          read_split(*file, Split::kTest, memory_of(info_, Split::kTest, has_files, memory.data()));
          if (options.validation_share == 0) return;
          held_out_ = hold_out_of(info_, train, options.validation_share, path, touch);
        });
        held_out_ = world.all_reduce_value<std::uint64_t>(held_out_, comm::Reduction::kMax);
        return memory;
      }()) {}

void ImageStore::share_table(comm::MpiCommunicator& node, const data::PackedFile* file) {
  table_ = node.broadcast_string(file != nullptr ? file->block_table() : "");
  file_path_ = node.broadcast_string(file != nullptr ? file->path() : "");
  if (file != nullptr) begin_ = {file->pictures_at(Split::kTrain), file->pictures_at(Split::kTest)};
  begin_ = node.all_gather(begin_).front();
}

// Alike on all hosts.
bool ImageStore::fits_memory(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                             const comm::Topology& topology, const StoreOptions& options) {
  if (!info_.is_encoded()) return true;
  const std::uint64_t files = info_.train_bytes + info_.test_bytes;
  const std::uint64_t all = data::MemoryLayout(info_).all;
  const std::optional<MemoryRoom> room = memory_room();
  // The margin of NodeMemory.
  const bool has_room = !room || room->bytes >= all + all / 10;
  bool fits = options.cache_bytes > 0 ? files <= options.cache_bytes && has_room : has_room;
  if (fits && options.cache_bytes == 0 && info_.parts <= 1 && !options.needs_all) {
    fits = has_room_beside(options, info_, all);
  }
  if (world.all_reduce_value<std::int64_t>(fits ? 1 : 0, comm::Reduction::kMin) == 1) return true;
  const bool is_one = info_.parts <= 1;
  comm::agree(world, topology.host, [&] {
    if ((is_one && !options.needs_all) || fits) return;
    const bool is_limited = options.cache_bytes > 0 && has_room;
    throw UnavailableError(
        path_ +
        (is_one ? ": --read-lanes 0 shuffles all pictures, which take "
                : ": a set in several files must fit into memory; its pictures take ") +
        format_bytes(all) + " of memory; " +
        (is_limited ? "--cache-mb allows " + format_bytes(options.cache_bytes) : room->text()) +
        (is_one ? "; fix: --read-lanes 64, which reads them from the file, for a new run"
                : "; fix: pack the set without --files, so that ranks read them from the file"));
  });
  const std::uint64_t free = room ? room->bytes / kShareForFiles : files;
  const std::uint64_t most = room ? room->bytes : options.cache_bytes;
  const std::uint64_t cache = options.cache_bytes > 0 ? std::min(options.cache_bytes, most) : free;
  cache_bytes_ = std::max<std::uint64_t>(1, node.all_reduce_value(cache, comm::Reduction::kMin) /
                                                static_cast<std::uint64_t>(node.size()));
  return false;
}

std::shared_ptr<const data::LaneOrder> ImageStore::lanes(std::uint64_t lanes,
                                                         std::uint64_t window_bytes) const {
  if (table_.empty() || lanes == 0) return nullptr;
  const std::uint64_t begin = files_ ? 0 : begin_[data::index_of(Split::kTrain)];
  return std::make_shared<const data::LaneOrder>(
      data::images_of_blocks(view(Split::kTrain), table_, begin), lanes, window_bytes);
}

data::ImagesView ImageStore::view(Split split) const {
  const data::ImagesView all = all_of(split);
  return split == Split::kTrain ? all.part(0, info_.train_count - held_out_) : all;
}

data::ImagesView ImageStore::validation() const {
  return all_of(Split::kTrain).part(info_.train_count - held_out_, held_out_);
}

data::ImagesView ImageStore::all_of(Split split) const {
  const SplitMemory found = memory_of(info_, split, !files_, memory_.data());
  return {info_.shape,
          found.images,
          found.labels,
          found.places,
          path_ + (split == Split::kTrain ? ": /train" : ": /test"),
          files_,
          found.targets};
}

}  // namespace tandem::train
