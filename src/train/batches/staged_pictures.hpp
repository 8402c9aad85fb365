// Copies picture files to a disk of each host, in a file without a name. Its space is free when the
// ranks end, however they end.
#pragma once

#include <string>

#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/data/picture_blocks.hpp"

namespace tandem::train {

// Collective over both; `node`: the ranks of this host. The first of them copies all pictures,
// verified, to `folder`, and all read this copy from now on. Throws AgreedError on all ranks: 69 if
// the disk has too little space, 73 if no file can be created or if a rank cannot open the file of
// the first one, and the errors of reading.
void stage_pictures(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                    const std::string& folder, data::PictureBlocks& pictures);

}  // namespace tandem::train
