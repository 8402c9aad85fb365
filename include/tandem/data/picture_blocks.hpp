// The picture files of a packed set that is not in memory. Reads blocks on request and verifies
// them by the table of their file. Any thread. Throws DataError naming a damaged block and its
// file, IoError.
//
// A position counts the bytes of all files of the set, one after another. For a set in one file it
// is the offset in the file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::data {

// The location of the pictures in one file of a set.
struct PackedPictures {
  std::string path;
  std::string table;                     // of digests (docs/formats.md)
  std::array<std::uint64_t, 2> begin{};  // by split: offset of the first picture in the file
  std::array<std::uint64_t, 2> bytes{};  // by split: of all pictures
};

class PictureBlocks final : public PictureFiles {
 public:
  // `files`: in the order of the set. They are opened when a block is needed, a few dozen at a
  // time. `cache_bytes`: limit for the caches of all readers together. `touch` is called after each
  // block, on the thread that reads.
  PictureBlocks(std::vector<PackedPictures> files, std::uint64_t cache_bytes, Touch touch);
  ~PictureBlocks() override;

  // The position of a byte of a split's pictures, which follow one another in all files.
  std::uint64_t position(Split split, std::uint64_t byte) const;

  // Bytes of whole blocks, and the position of the first one.
  struct Part {
    std::uint64_t begin = 0;
    std::string bytes;
    std::uint64_t end() const { return begin + bytes.size(); }
  };
  // The blocks that hold the positions [begin, end), which lie in one file.
  Part read(std::uint64_t begin, std::uint64_t end) const;
  // Keeps the blocks of the last picture for the next one.
  std::shared_ptr<const std::string> file_of(const PicturePlace& place) override;

  // One more than the last position.
  std::uint64_t extent() const;
  // Writes all blocks of pictures, verified, at their positions.
  void copy_to(File& copy) const;
  // Reads the blocks from such a copy from now on. No other thread may read during the call.
  // `folder`: the folder of the copy, for messages.
  void read_from(std::shared_ptr<const File> copy, const std::string& folder);

  // Groups the images of a view of `split` by the blocks in which their files begin, and leaves out
  // blocks in which none begins. If the view has the files in memory, its places are those of
  // PackedSet::read_encoded(); otherwise they are positions.
  std::vector<BlockImages> images_of_blocks(const ImagesView& view, Split split) const;

  std::uint64_t bytes_read() const;  // of all threads

  // Reserves a share of the cache for a reader of batches: most of the bytes that no other reader
  // has. The reader gives it back by return_share().
  std::uint64_t take_share();
  void return_share(std::uint64_t bytes);
  // The reserved bytes: of a cache, those for its first reader; of a share, those for pictures of
  // blocks in use.
  static std::uint64_t reserved_of(std::uint64_t bytes) { return bytes / 8 * 7; }
  // The smallest cache or share with at least `reserved` such bytes.
  static std::uint64_t min_bytes_for(std::uint64_t reserved) { return (reserved + 6) / 7 * 8; }

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::data
