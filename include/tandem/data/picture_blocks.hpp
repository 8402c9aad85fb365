// The picture files of a packed file that is not in memory. Reads blocks on request and verifies
// them by their digests. Any thread. Throws DataError naming a damaged block, IoError.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/data/images_view.hpp"
#include "tandem/data/lane_order.hpp"

namespace tandem::data {

class PictureBlocks final : public PictureFiles {
 public:
  // `table`: PackedFile::block_table(). `cache_bytes`: limit for the caches of all readers
  // together. `touch` is called after each block, on the thread that reads.
  PictureBlocks(const std::string& path, const std::string& table, std::uint64_t cache_bytes,
                Touch touch);
  ~PictureBlocks() override;

  // Bytes of whole blocks, and the offset of the first one in the file.
  struct Part {
    std::uint64_t begin = 0;
    std::string bytes;
    std::uint64_t end() const { return begin + bytes.size(); }
  };
  // The blocks that hold [begin, end) of the file.
  Part read(std::uint64_t begin, std::uint64_t end) const;
  // Keeps the blocks of the last picture for the next one.
  std::shared_ptr<const std::string> file_of(const PicturePlace& place) override;

  std::uint64_t bytes_read() const;  // of all threads

  // Reserves a share of the cache for a reader of batches: most of the bytes that no other reader
  // has. The reader gives it back by return_share().
  std::uint64_t take_share();
  void return_share(std::uint64_t bytes);
  // The share of the first reader.
  static std::uint64_t first_share(std::uint64_t cache_bytes) { return cache_bytes / 8 * 7; }

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

// Groups the images of a view by the blocks in which their files begin, and leaves out blocks in
// which none begins. Places of the view begin at offset `begin` of the packed file.
std::vector<BlockImages> images_of_blocks(const ImagesView& view, const std::string& table,
                                          std::uint64_t begin);

}  // namespace tandem::data
