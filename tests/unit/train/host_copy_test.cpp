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

TEST(HostCopy, TakesTensorsOfTheHostAsTheyAre) {
  const std::vector<torch::Tensor> tensors{torch::ones(3), torch::zeros({2, 2}, torch::kInt64)};
  const std::vector<torch::Tensor> found = all_on_host(tensors);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].is_same(tensors[0]));
  EXPECT_TRUE(found[1].is_same(tensors[1]));
}

// As it is done for a GPU, but for the kind of memory.
TEST(HostCopy, LaysTensorsOfAnyTypeInOnePiece) {
  const std::vector<torch::Tensor> tensors{torch::randn(37), torch::tensor(5, torch::kInt64),
                                           torch::randn({2, 3}).t(),
                                           torch::arange(7, torch::kUInt8), torch::empty({0})};
  const std::vector<torch::Tensor> copies = copied_in_one_piece(tensors, {});
  ASSERT_EQ(copies.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(copies[i].scalar_type(), tensors[i].scalar_type()) << i;
    EXPECT_TRUE(torch::equal(copies[i], tensors[i])) << i;
    EXPECT_TRUE(copies[i].is_contiguous()) << i;
    EXPECT_EQ(copies[i].storage().data(), copies[0].storage().data()) << i;
  }
  tensors[0].zero_();
  EXPECT_FALSE(torch::equal(copies[0], tensors[0]));
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
