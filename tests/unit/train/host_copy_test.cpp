#include "tandem/train/host_copy.hpp"

#include <gtest/gtest.h>

#include "support/lone_communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::train {
namespace {

TEST(HostCopy, SeesTheFloatsOfAFlatTensorAndNoOthers) {
  const torch::Tensor flat = torch::arange(6, torch::kFloat32);
  EXPECT_EQ(floats_of(flat).size(), 6U);
  EXPECT_EQ(floats_of(flat).data(), flat.data_ptr<float>());
  EXPECT_THROW(floats_of(flat.view({2, 3}).t()), InternalError);
  EXPECT_THROW(floats_of(torch::empty({6}, torch::kMeta)), InternalError);
}

TEST(Replicate, RefusesABufferWhoseBytesAreNotInOrder) {
  testing::LoneCommunicator comm;
  torch::nn::Linear network(2, 2);
  network->register_buffer("seen", torch::zeros({2, 3}).t());
  try {
    broadcast_buffers(comm, *network);
    FAIL() << "was broadcast";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "buffer seen is not contiguous and cannot be broadcast");
  }
}

}  // namespace
}  // namespace tandem::train
