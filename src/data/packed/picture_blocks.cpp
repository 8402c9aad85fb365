#include "tandem/data/picture_blocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>

#include "block_table.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

// Limit for open files. A set may have more files than a process may open.
constexpr std::size_t kMostOpen = 48;

}  // namespace

struct PictureBlocks::Parts {
  // The most recently used files. Any thread.
  class OpenFiles {
   public:
    std::shared_ptr<const File> open(const std::string& path) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = std::find_if(files_.begin(), files_.end(),
                                      [&](const auto& each) { return each->path() == path; });
      if (found != files_.end()) {
        files_.splice(files_.begin(), files_, found);
      } else {
        files_.push_front(std::make_shared<const File>(open_packed(path)));
        if (files_.size() > kMostOpen) files_.pop_back();
      }
      return files_.front();
    }

   private:
    std::mutex mutex_;
    std::list<std::shared_ptr<const File>> files_;  // the most recent first
  };

  struct FileOfSet {
    std::string path;
    BlockTable table;
    std::array<std::uint64_t, 2> begin;  // of the pictures of a split in the file
    std::array<std::uint64_t, 2> ends;   // of these pictures among those of all files
    std::array<std::uint64_t, 2> bytes;
    std::uint64_t position = 0;  // of the file's first byte

    std::uint64_t end() const { return position + table.blocks().back().end(); }
  };

  static std::vector<FileOfSet> files_of_set(std::vector<PackedPictures> files) {
    std::vector<FileOfSet> all;
    std::uint64_t position = 0;
    std::array<std::uint64_t, 2> ends{};
    for (PackedPictures& each : files) {
      for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += each.bytes[i];
      BlockTable table = decode_block_table(each.table, each.path);
      all.push_back(
          {std::move(each.path), std::move(table), each.begin, ends, each.bytes, position});
      position = all.back().end();
    }
    return all;
  }

  const Touch touch;
  const std::vector<FileOfSet> files;
  mutable OpenFiles open_files;
  std::shared_ptr<const File> copy;  // null: blocks are read from the files
  std::string folder_of_copy;
  std::atomic<std::uint64_t> bytes_read{0};

  std::mutex mutex;  // guards what follows
  std::uint64_t free_bytes;
  Part last;

  Parts(std::vector<PackedPictures> all, std::uint64_t cache_bytes, Touch report)
      : touch(std::move(report)), files(files_of_set(std::move(all))), free_bytes(cache_bytes) {}

  const FileOfSet& file_at(std::uint64_t position) const {
    const auto found =
        std::upper_bound(files.begin(), files.end(), position,
                         [](std::uint64_t at, const FileOfSet& each) { return at < each.end(); });
    if (found == files.end()) fail(position);
    return *found;
  }
  // Reads whole blocks of a file.
  void read(const FileOfSet& file, std::uint64_t offset, std::uint64_t bytes, void* to) const {
    if (copy) {
      const File named(::dup(copy->descriptor()), folder_of_copy + ": copy of " + file.path);
      ProvenReader(file.table, named, touch, file.position).read(offset, bytes, to);
      return;
    }
    const std::shared_ptr<const File> opened = open_files.open(file.path);
    ProvenReader(file.table, *opened, touch).read(offset, bytes, to);
  }
  [[noreturn]] static void fail(std::uint64_t position) {
    throw InternalError("position " + std::to_string(position) + " of a packed set has no block");
  }
};

PictureBlocks::PictureBlocks(std::vector<PackedPictures> files, std::uint64_t cache_bytes,
                             Touch touch)
    : parts_(std::make_unique<Parts>(std::move(files), cache_bytes, std::move(touch))) {}

PictureBlocks::~PictureBlocks() = default;

std::uint64_t PictureBlocks::position(Split split, std::uint64_t byte) const {
  const std::size_t i = index_of(split);
  const auto file = std::upper_bound(
      parts_->files.begin(), parts_->files.end(), byte,
      [i](std::uint64_t at, const Parts::FileOfSet& each) { return at < each.ends[i]; });
  if (file == parts_->files.end()) Parts::fail(byte);
  return file->position + file->begin[i] + (byte - (file->ends[i] - file->bytes[i]));
}

PictureBlocks::Part PictureBlocks::read(std::uint64_t begin, std::uint64_t end) const {
  const Parts::FileOfSet& file = parts_->file_at(begin);
  if (begin >= end || end > file.end()) Parts::fail(end);
  const auto first = file.table.at(begin - file.position);
  const auto last = file.table.at(end - 1 - file.position);
  Part part;
  part.begin = file.position + first->offset;
  part.bytes.resize(last->end() - first->offset);
  parts_->read(file, first->offset, part.bytes.size(), part.bytes.data());
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

std::uint64_t PictureBlocks::extent() const { return parts_->files.back().end(); }

void PictureBlocks::copy_to(File& copy) const {
  std::vector<std::uint8_t> bytes;
  for (const Parts::FileOfSet& file : parts_->files) {
    for (const Block& block : file.table.blocks()) {
      if (block.kind != BlockKind::kPictures) continue;
      bytes.resize(block.bytes);
      parts_->read(file, block.offset, block.bytes, bytes.data());
      copy.write_at(file.position + block.offset, bytes.data(), bytes.size());
    }
  }
}

void PictureBlocks::read_from(std::shared_ptr<const File> copy, const std::string& folder) {
  parts_->folder_of_copy = folder;
  parts_->copy = std::move(copy);
}

std::vector<BlockImages> PictureBlocks::images_of_blocks(const ImagesView& view,
                                                         Split split) const {
  std::vector<BlockImages> found;
  std::uint64_t end = 0;  // of the last block
  for (std::size_t i = 0; i < view.places.size(); ++i) {
    const PicturePlace& place = view.places[i];
    const std::uint64_t at = view.files ? place.begin : position(split, place.begin);
    if (at >= end) {
      found.push_back({static_cast<std::uint32_t>(i), 0, 0});
      const Parts::FileOfSet& file = parts_->file_at(at);
      end = file.position + file.table.at(at - file.position)->end();
    }
    ++found.back().count;
    found.back().bytes += place.end - place.begin;
  }
  return found;
}

std::uint64_t PictureBlocks::bytes_read() const { return parts_->bytes_read; }

std::uint64_t PictureBlocks::take_share() {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  const std::uint64_t share = reserved_of(parts_->free_bytes);
  parts_->free_bytes -= share;
  return share;
}

void PictureBlocks::return_share(std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  parts_->free_bytes += bytes;
}

}  // namespace tandem::data
