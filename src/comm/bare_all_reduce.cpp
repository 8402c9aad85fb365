#include "tandem/comm/bare_all_reduce.hpp"

#include "mpi_handle.hpp"

namespace tandem::comm {

void BareAllReduce::operator()(Span<float> values) const {
  TANDEM_MPI(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                           MPI_SUM, comm_.handle_->mpi));
}

}  // namespace tandem::comm
