// Open MPI's search for fast networks while MPI starts.
#pragma once

#include <string>

namespace tandem::comm {

// While this object exists, MPI_Init of Open MPI skips its layer `cm` if this host has no network
// that it serves: Omni-Path, InfiniPath, EFA, Slingshot, Aries, BXI. Debian's Open MPI 4.1
// otherwise waits 0.2 s for devices of the first two. The variable is taken back, because mpirun
// would pass it on to other hosts. `OMPI_MCA_pml` and `OMPI_MCA_mtl` of the user stay as they are.
class FabricSearch {
 public:
  explicit FabricSearch(const std::string& root = "");  // of the paths of devices
  ~FabricSearch();
  FabricSearch(const FabricSearch&) = delete;
  FabricSearch& operator=(const FabricSearch&) = delete;

 private:
  bool is_skipped_ = false;
};

}  // namespace tandem::comm
