// Open MPI's search for fast networks while MPI starts.
#pragma once

#include <string>

namespace tandem::comm {

// While this object exists, Open MPI's MPI_Init skips its component `cm` if this host has no
// network that `cm` serves: Omni-Path, InfiniPath, EFA, Slingshot, Aries, BXI. Debian's Open
// MPI 4.1 otherwise waits 0.2 s for devices of the first two. The destructor unsets `OMPI_MCA_pml`,
// because mpirun would pass it on to other hosts. If the user set it or `OMPI_MCA_mtl`, nothing
// changes. A choice in a file of parameters (openmpi-mca-params.conf) does not count.
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
