// On the stand-in and, with TANDEM_TEST_GPU=real, on GPUs.
#include <gtest/gtest.h>

#include <thread>

#include "collectives_conformance.hpp"
#include "nccl_subject.hpp"
#include "tandem/comm/gpu_libraries.hpp"

namespace tandem::comm {
namespace {

using NcclCases = ::testing::Types<Case<NcclSubject, float>, Case<NcclSubject, Bfloat16>,
                                   Case<NcclSubject, double>, Case<NcclSubject, std::int64_t>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Nccl, Conformance, NcclCases, CaseNumber);

class Nccl : public ::testing::Test {
 protected:
  using Memory = NcclSubject::Memory<float>;

  // Connected: the first collective does things that later ones do not.
  void SetUp() override {
    Memory memory(subject_, {1});
    subject_.collectives().all_reduce(memory.span());
    EXPECT_EQ(memory.read()[0], size());
  }
  float size() const { return static_cast<float>(subject_.world.size()); }

  NcclSubject subject_;
};

TEST_F(Nccl, KnowsItsPlace) {
  EXPECT_EQ(subject_.nccl->rank(), subject_.world.rank());
  EXPECT_EQ(subject_.nccl->size(), subject_.world.size());
  EXPECT_EQ(subject_.nccl->name(), "nccl");
}

TEST_F(Nccl, BeginsAfterWhatTheComputeStreamWasGiven) {
  Memory ones(subject_, {1, 1, 1});
  Memory values(subject_, {0, 0, 0});
  testing::Gate gate(subject_.gpu());
  values.copy_from(ones);
  const auto request = subject_.collectives().iall_reduce(values.span());
  EXPECT_FALSE(request->test());
  gate.open();
  request->wait();
  EXPECT_EQ(values.read(), std::vector<float>(3, size()));
}

TEST_F(Nccl, ComputeFindsTheSumAfterWaitAndTheHostDoesNotWait) {
  Memory values(subject_, {1, 1, 1});
  Memory copy(subject_, {0, 0, 0});
  testing::Gate gate(subject_.gpu());
  const auto request = subject_.collectives().iall_reduce(values.span());
  request->wait();
  copy.copy_from(values);
  EXPECT_FALSE(request->test());
  gate.open();
  EXPECT_EQ(copy.read(), std::vector<float>(3, size()));
  EXPECT_TRUE(request->test());
}

TEST_F(Nccl, ManyCollectivesKeepTheirOrder) {
  Memory values(subject_, {1});
  std::vector<std::unique_ptr<Request>> in_flight;
  float expected = 1;
  for (int i = 0; i < 10; ++i) {
    in_flight.push_back(subject_.collectives().iall_reduce(values.span()));
    expected *= size();
  }
  for (const auto& request : in_flight) request->wait();
  EXPECT_EQ(values.read()[0], expected);
}

// libtorch reads the last error after each of its kernels, and throws.
TEST_F(Nccl, ATestBeforeTheEndLeavesNoErrorBehind) {
  Memory values(subject_, {1});
  testing::Gate gate(subject_.gpu());
  const auto request = subject_.collectives().iall_reduce(values.span());
  EXPECT_FALSE(request->test());
  EXPECT_EQ(subject_.gpu().api->cudaGetLastError(), cudaSuccess);
  gate.open();
}

// As computation on another stream than the legacy one does, which CUDA graphs need.
TEST_F(Nccl, FollowsTheStreamOfEachCall) {
  const testing::TestGpu& gpu = subject_.gpu();
  cudaStream_t side = nullptr;
  gpu.check(gpu.api->cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, 0), "create");
  void* current = nullptr;
  subject_.nccl.reset();
  subject_.settings.compute_stream = [&current] { return current; };
  Memory values(subject_, {1});
  subject_.collectives().all_reduce(values.span());
  EXPECT_EQ(values.read()[0], size());

  current = side;
  {
    testing::Gate gate(gpu, side);
    const auto request = subject_.collectives().iall_reduce(values.span());
    EXPECT_FALSE(request->test());
    request->wait();
    EXPECT_FALSE(request->test());
    gate.open();
    gpu.check(gpu.synchronize(side), "cudaStreamSynchronize");
    EXPECT_TRUE(request->test());
  }
  EXPECT_EQ(values.read()[0], size() * size());
  subject_.nccl.reset();
  gpu.api->cudaStreamDestroy(side);
}

TEST_F(Nccl, IsDestroyedWithWorkInFlight) {
  Memory values(subject_, {1, 1, 1});
  {
    testing::Gate gate(subject_.gpu());
    subject_.collectives().iall_reduce(values.span());
    gate.open();
    subject_.nccl.reset();
  }
  EXPECT_EQ(values.read(), std::vector<float>(3, size()));
  if (subject_.stand_in) {
    EXPECT_EQ(subject_.stand_in->living(), 0);
  }
}

TEST_F(Nccl, ConnectsAgainAfterItsEnd) {
  subject_.nccl.reset();
  SetUp();
}

// As autograd's are, where gradients become complete.
TEST_F(Nccl, CollectivesMayComeFromAThreadThatChoseNoGpu) {
  Memory values(subject_, {1});
  std::thread([&] { subject_.collectives().all_reduce(values.span()); }).join();
  EXPECT_EQ(values.read()[0], size());
}

// A later NCCL takes what this program was built for.
TEST(GpuLibraries, AreFoundAsTheyWereBuiltOrLater) {
  EXPECT_EQ(gpu_libraries_built().rfind("CUDA ", 0), 0U) << gpu_libraries_built();
  const std::string cuda = gpu_libraries_built().substr(0, gpu_libraries_built().find(", NCCL"));
  EXPECT_EQ(gpu_libraries_found().rfind(cuda + ", NCCL 2.", 0), 0U) << gpu_libraries_found();
  int found = 0;
  ASSERT_EQ(load_gpu_api()->ncclGetVersion(&found), ncclSuccess);
  EXPECT_GE(found, NCCL_VERSION_CODE);
}

}  // namespace
}  // namespace tandem::comm
