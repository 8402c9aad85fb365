// In place of gpu_api.cpp, nccl_*.cpp where the build is without CUDA.
#include "tandem/comm/agree.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/nccl_communicator.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

std::string gpu_libraries_built() { return "without CUDA"; }
int cuda_version_built() { return 0; }
void set_nccl_defaults() {}
std::string gpu_libraries_found() { return ""; }

std::vector<std::string> gpu_library_names() { return {}; }

std::unique_ptr<Collectives> make_nccl(Communicator& world, const NcclSettings&) {
  agree(world, [] {
    throw UnavailableError(
        "NCCL cannot be used: this program was built without CUDA; build it with LIBTORCH=wheel, "
        "or exchange gradients over MPI");
  });
  return nullptr;
}

}  // namespace tandem::comm
