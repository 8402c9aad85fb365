// A packed data set in memory, one copy per host if the host can share memory. If picture files
// do not fit, ranks read them from the data set, block by block. Any thread may read it. Throws
// AgreedError on every rank if a rank cannot read the file, if hosts have different files, if there
// is not enough memory, or if no image can be held out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/lane_order.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/picture_blocks.hpp"
#include "tandem/train/config.hpp"

namespace tandem::train {

struct StoreOptions {
  double validation_share = 0;  // of each class, in [0, 1): not trained on
  ReadingOptions reading = {};
  // Called on every rank before memory is allocated. `bytes`: memory of a host for the images,
  // cache included. May throw.
  std::function<void(const data::DatasetInfo& info, std::uint64_t bytes)> before_reading = nullptr;

  // Whether all images of this set must be in memory: pixels, and picture files that are shuffled
  // as a whole.
  bool needs_all_of(const data::DatasetInfo& info) const;
};

class ImageStore {
 public:
  // Collective. One rank per host verifies and reads the file, or every rank if a host cannot share
  // memory; all must find the same data set. `touch` is called as reading advances, then and later.
  ImageStore(const std::string& path, comm::MpiCommunicator& world, comm::MpiCommunicator& node,
             const StoreOptions& options = {}, const Touch& touch = {});
  // For programs that give the topology, which it once needed.
  ImageStore(const std::string& path, comm::MpiCommunicator& world, comm::MpiCommunicator& node,
             const comm::Topology& /*topology*/, const StoreOptions& options = {},
             const Touch& touch = {})
      : ImageStore(path, world, node, options, touch) {}

  const data::DatasetInfo& info() const { return info_; }
  // The training images that are not held out.
  data::ImagesView view(data::Split split) const;
  // The held-out images; may be empty.
  data::ImagesView validation() const;
  // False: every rank keeps a copy of its own, because some host could not share that much.
  bool shared() const { return memory_->shared(); }
  std::size_t bytes() const { return bytes_; }
  // Of picture files that ranks read from the data set because a host cannot share that much.
  std::size_t unshared_bytes() const { return unshared_bytes_; }
  // The limit of this rank's cache of picture files; 0: all files are in memory.
  std::uint64_t cache_bytes() const { return cache_bytes_; }
  // The order of view(Split::kTrain); null for pixels and 0 lanes.
  std::shared_ptr<const data::LaneOrder> lanes(const ReadingOptions& reading) const;

 private:
  // All collective. Allocates memory for the set, or for all but its picture files.
  comm::NodeMemory allocate(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                            const StoreOptions& options);
  // Returns true if the set is read into memory; otherwise it sets the cache.
  bool fits_memory(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                   const StoreOptions& options);
  void set_cache(comm::MpiCommunicator& node, const StoreOptions& options);
  std::uint64_t bytes_of_files() const { return info_.train_bytes + info_.test_bytes; }
  data::ImagesView all_of(data::Split split) const;

  const std::string path_;
  data::DatasetInfo info_;
  std::uint64_t held_out_ = 0;
  std::size_t bytes_ = 0;
  std::size_t unshared_bytes_ = 0;
  std::uint64_t cache_bytes_ = 0;
  bool has_files_ = true;                        // false: picture files are not in memory
  std::shared_ptr<data::PictureBlocks> blocks_;  // of a set of picture files
  std::optional<comm::NodeMemory> memory_;       // present once it is made
};

}  // namespace tandem::train
