// That memory of a device, here the CPU's, goes through the host's and comes back summed.
#include "tandem/train/staged_collectives.hpp"

#include <gtest/gtest.h>

#include "collectives_conformance.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"

namespace tandem::comm {
namespace {

struct Staged {
  template <typename T>
  using Memory = HostMemory<T>;
  Staged() { mpi.set_piece(kPiece); }
  Collectives& collectives() { return staged; }
  MpiCommunicator mpi = MpiCommunicator::world();
  train::StagedCollectives staged{mpi, torch::kCPU};
};

using Cases = ::testing::Types<Case<Staged, float>, Case<Staged, double>,
                               Case<Staged, std::int64_t>, Case<Staged, std::uint64_t>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Staged, Conformance, Cases, CaseNumber);

TEST(StagedCollectives, SayWhatCarriesThem) {
  Staged subject;
  EXPECT_EQ(subject.staged.name(), "mpi, staged through host memory");
}

}  // namespace
}  // namespace tandem::comm
