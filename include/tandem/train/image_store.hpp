// A packed data set in memory, one copy per host if the host can share memory. Any thread may read
// it. Throws AgreedError on every rank if a rank cannot read the file, if hosts have different
// files, or if no image can be held out.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/node_memory.hpp"
#include "tandem/comm/topology.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::train {

class ImageStore {
 public:
  // Collective. One rank per host verifies and reads the file, or every rank if a host cannot share
  // memory; all must find the same data set. `validation_share`, in [0, 1), of each class is not
  // trained on. `touch` is called as reading advances.
  ImageStore(const std::string& path, comm::MpiCommunicator& world, comm::MpiCommunicator& node,
             const comm::Topology& topology, double validation_share = 0, const Touch& touch = {});

  const data::DatasetInfo& info() const { return info_; }
  // The training images that are not held out.
  data::ImagesView view(data::Split split) const;
  // The held-out images; may be empty.
  data::ImagesView validation() const;
  // False: every rank keeps a copy of its own, because some host could not share that much.
  bool shared() const { return memory_.shared(); }
  std::size_t bytes() const { return bytes_; }

 private:
  data::ImagesView all_of(data::Split split) const;

  const std::string path_;
  data::DatasetInfo info_;
  std::uint64_t held_out_ = 0;
  std::size_t bytes_;
  comm::NodeMemory memory_;
};

}  // namespace tandem::train
