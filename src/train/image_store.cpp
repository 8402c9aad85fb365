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
                   test_count, sealed, broken_files, exif_orientation)

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

std::size_t images_of(const DatasetInfo& info) { return info.train_count + info.test_count; }

// Where labels begin behind the pixels, which may be odd in number.
std::size_t place_of_labels(const DatasetInfo& info) {
  const std::size_t bytes = images_of(info) * info.shape.pixels();
  return bytes + bytes % sizeof(data::Label);
}

}  // namespace

ImageStore::ImageStore(const std::string& path, comm::MpiCommunicator& world,
                       comm::MpiCommunicator& node, const comm::Topology& topology,
                       double validation_share, const Touch& touch)
    : bytes_(0), memory_([&] {
        std::optional<data::PackedFile> file;
        info_ = open_everywhere(path, world, node, topology, file, touch);
        bytes_ = place_of_labels(info_) + images_of(info_) * sizeof(data::Label);
        comm::NodeMemory memory(world, node, bytes_);
        comm::agree(world, topology.host, [&] {
          if (!memory.fills()) return;
          if (!file) {
            file.emplace(path, touch);
            require_same(file->info(), info_, path);
          }
          const std::size_t pixels = info_.shape.pixels();
          std::uint8_t* const images = memory.data();
          auto* const labels = reinterpret_cast<data::Label*>(images + place_of_labels(info_));
          const Span<std::uint8_t> train_images(images, info_.train_count * pixels);
          const Span<data::Label> train_labels(labels, info_.train_count);
          file->read(Split::kTrain, 0, train_images, train_labels);
          file->read(Split::kTest, 0, {train_images.end(), info_.test_count * pixels},
                     {train_labels.end(), info_.test_count});
          if (validation_share == 0) return;
          held_out_ =
              data::hold_out(validation_share, pixels, train_images, train_labels, path, touch);
        });
        held_out_ = world.all_reduce_value<std::uint64_t>(held_out_, comm::Reduction::kMax);
        return memory;
      }()) {}

data::ImagesView ImageStore::view(Split split) const {
  return split == Split::kTrain ? view_of(0, info_.train_count - held_out_)
                                : view_of(info_.train_count, info_.test_count);
}

data::ImagesView ImageStore::validation() const {
  return view_of(info_.train_count - held_out_, held_out_);
}

data::ImagesView ImageStore::view_of(std::size_t first, std::size_t count) const {
  const std::size_t pixels = info_.shape.pixels();
  const std::uint8_t* images = memory_.data();
  const auto* labels = reinterpret_cast<const data::Label*>(images + place_of_labels(info_));
  return {info_.shape, {images + first * pixels, count * pixels}, {labels + first, count}};
}

}  // namespace tandem::train
