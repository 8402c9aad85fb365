#include "tandem/data/picture_blocks.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "block_table.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {

struct PictureBlocks::Parts {
  const Touch touch;
  const File file;
  const BlockTable table;
  std::atomic<std::uint64_t> bytes_read{0};

  std::mutex mutex;  // guards what follows
  std::uint64_t free_bytes;
  Part last;

  Parts(const std::string& path, const std::string& bytes, std::uint64_t cache_bytes, Touch report)
      : touch(std::move(report)),
        file(open_packed(path)),
        table(decode_block_table(bytes, path)),
        free_bytes(cache_bytes) {}
};

PictureBlocks::PictureBlocks(const std::string& path, const std::string& table,
                             std::uint64_t cache_bytes, Touch touch)
    : parts_(std::make_unique<Parts>(path, table, cache_bytes, std::move(touch))) {}

PictureBlocks::~PictureBlocks() = default;

PictureBlocks::Part PictureBlocks::read(std::uint64_t begin, std::uint64_t end) const {
  const std::vector<Block>& blocks = parts_->table.blocks();
  const auto first = parts_->table.at(begin);
  const auto last = parts_->table.at(end - 1);
  if (begin >= end || first == blocks.end() || last == blocks.end()) {
    throw InternalError("bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                        " of a packed file have no block");
  }
  Part part;
  part.begin = first->offset;
  part.bytes.resize(last->end() - first->offset);
  ProvenReader reader(parts_->table, parts_->file);
  reader.read(part.begin, part.bytes.size(), reinterpret_cast<std::uint8_t*>(part.bytes.data()),
              parts_->touch);
  parts_->bytes_read += part.bytes.size();
  return part;
}

std::shared_ptr<const std::string> PictureBlocks::file_of(const PicturePlace& place) {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  Part& last = parts_->last;
  if (place.begin < last.begin || place.end > last.end()) last = read(place.begin, place.end);
  return std::make_shared<const std::string>(last.bytes, place.begin - last.begin,
                                             place.end - place.begin);
}

std::uint64_t PictureBlocks::bytes_read() const { return parts_->bytes_read; }

std::uint64_t PictureBlocks::take_share() {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  const std::uint64_t share = first_share(parts_->free_bytes);
  parts_->free_bytes -= share;
  return share;
}

void PictureBlocks::return_share(std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  parts_->free_bytes += bytes;
}

std::vector<BlockImages> images_of_blocks(const ImagesView& view, const std::string& table,
                                          std::uint64_t begin) {
  const BlockTable decoded = decode_block_table(table, view.where);
  const std::vector<Block>& blocks = decoded.blocks();
  std::vector<BlockImages> found;
  auto block = blocks.begin();
  auto of_last = blocks.end();
  for (std::size_t i = 0; i < view.places.size(); ++i) {
    const PicturePlace& place = view.places[i];
    while (block != blocks.end() && block->end() <= begin + place.begin) ++block;
    if (found.empty() || block != of_last) found.push_back({static_cast<std::uint32_t>(i), 0, 0});
    of_last = block;
    ++found.back().count;
    found.back().bytes += place.end - place.begin;
  }
  return found;
}

}  // namespace tandem::data
