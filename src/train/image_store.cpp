#include "tandem/train/image_store.hpp"

#include <optional>

#include "tandem/comm/agree.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/hold_out.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {

TANDEM_JSON_STRUCT(ImageShape, channels, height, width)
TANDEM_JSON_STRUCT(DatasetInfo, name, classes, shape, mean, std, source_sha256, digest, train_count,
                   test_count, train_bytes, test_bytes, sealed, broken_files, exif_orientation)

}  // namespace tandem::data

namespace tandem::train {
namespace {

using data::DatasetInfo;
using data::Split;

std::string to_text(const DatasetInfo& info) { return Json(info).dump(); }

// Every rank must be able to open the file, and sees by its first bytes, which hold the seal's
// digest, that it is the same as elsewhere, before one rank a host reads all of it.
std::string fingerprint(const std::string& path) {
  constexpr std::size_t kSealBytes = 512;
  std::string start(kSealBytes, '\0');
  start.resize(data::open_packed(path).read_at(0, start.data(), start.size()));
  return sha256_hex(start).substr(0, 16);
}

// The first rank of each host opens the file and broadcasts its description.
DatasetInfo open_everywhere(const std::string& path, comm::MpiCommunicator& world,
                            comm::MpiCommunicator& node, const comm::Topology& topology,
                            std::optional<data::PackedFile>& file, const Touch& touch) {
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
};

SplitMemory memory_of(const DatasetInfo& info, Split split, std::uint8_t* memory) {
  const data::MemoryLayout layout(info);
  const bool is_train = split == Split::kTrain;
  const std::size_t count = info.count(split);
  const std::size_t before = is_train ? 0 : info.train_count;
  const auto labels = reinterpret_cast<data::Label*>(memory + layout.labels) + before;
  if (!info.is_encoded()) {
    const std::size_t pixels = info.shape.pixels();
    return {{memory + before * pixels, count * pixels}, {}, {labels, count}};
  }
  const auto places = reinterpret_cast<data::PicturePlace*>(memory + layout.places) + before;
  return {{memory + (is_train ? 0 : info.train_bytes), info.encoded_bytes(split)},
          {places, count},
          {labels, count}};
}

void read_split(const data::PackedFile& file, Split split, const SplitMemory& to) {
  if (file.info().is_encoded()) {
    file.read_encoded(split, to.images, to.places, to.labels);
  } else {
    file.read(split, 0, to.images, to.labels);
  }
}

// In a set of picture files, only their places change.
std::uint64_t hold_out_of(const DatasetInfo& info, const SplitMemory& train, double share,
                          const std::string& path, const Touch& touch) {
  if (!info.is_encoded()) {
    return data::hold_out(share, info.shape.pixels(), train.images, train.labels, path, touch);
  }
  constexpr std::size_t kBytes = sizeof(data::PicturePlace);
  const Span<std::uint8_t> places(reinterpret_cast<std::uint8_t*>(train.places.data()),
                                  train.places.size() * kBytes);
  return data::hold_out(share, kBytes, places, train.labels, path, touch);
}

}  // namespace

ImageStore::ImageStore(const std::string& path, comm::MpiCommunicator& world,
                       comm::MpiCommunicator& node, const comm::Topology& topology,
                       double validation_share, const Touch& touch)
    : path_(path), bytes_(0), memory_([&] {
        std::optional<data::PackedFile> file;
        info_ = open_everywhere(path, world, node, topology, file, touch);
        bytes_ = data::MemoryLayout(info_).all;
        comm::NodeMemory memory(world, node, bytes_);
        comm::agree(world, topology.host, [&] {
          if (!memory.fills()) return;
          if (!file) {
            file.emplace(path, touch);
            require_same(file->info(), info_, path);
          }
          const SplitMemory train = memory_of(info_, Split::kTrain, memory.data());
          read_split(*file, Split::kTrain, train);
          read_split(*file, Split::kTest, memory_of(info_, Split::kTest, memory.data()));
          if (validation_share == 0) return;
          held_out_ = hold_out_of(info_, train, validation_share, path, touch);
        });
        held_out_ = world.all_reduce_value<std::uint64_t>(held_out_, comm::Reduction::kMax);
        return memory;
      }()) {}

data::ImagesView ImageStore::view(Split split) const {
  const data::ImagesView all = all_of(split);
  return split == Split::kTrain ? all.part(0, info_.train_count - held_out_) : all;
}

data::ImagesView ImageStore::validation() const {
  return all_of(Split::kTrain).part(info_.train_count - held_out_, held_out_);
}

data::ImagesView ImageStore::all_of(Split split) const {
  const SplitMemory found = memory_of(info_, split, memory_.data());
  return {info_.shape, found.images, found.labels, found.places,
          path_ + (split == Split::kTrain ? ": /train" : ": /test")};
}

}  // namespace tandem::train
