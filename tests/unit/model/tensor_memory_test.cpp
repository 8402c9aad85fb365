#include "tandem/model/tensor_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kManyFloats = 1'000'000;

// Of memory that is the process's own, in KiB.
std::int64_t resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "RssAnon:") continue;
    std::int64_t kib = 0;
    status >> kib;
    return kib;
  }
  return -1;
}

TEST(TensorMemory, NextTensorGetsTheSmallestPlaceThatHoldsIt) {
  const TensorMemory memory;
  torch::Tensor large = torch::ones({kManyFloats});
  const torch::Tensor between = torch::ones({kManyFloats});
  torch::Tensor small = torch::ones({kManyFloats / 2});
  const torch::Tensor last = torch::ones({kManyFloats});
  const void* const of_large = large.data_ptr();
  const void* const of_small = small.data_ptr();
  large = small = torch::Tensor();
  const torch::Tensor half = torch::ones({kManyFloats / 2 - 100});
  EXPECT_EQ(half.data_ptr(), of_small);
  EXPECT_EQ(torch::ones({kManyFloats - 100}).data_ptr(), of_large);
}

TEST(TensorMemory, SmallTensorsLeaveRoomForALargeOne) {
  const TensorMemory memory;
  const void* const first = torch::ones({4 * kManyFloats}).data_ptr();
  std::vector<torch::Tensor> parts;
  // Pages of headers and ends are small beside a million numbers.
  for (int i = 0; i < 3; ++i) parts.push_back(torch::full({kManyFloats}, 1.0F * i));
  EXPECT_EQ(parts[0].data_ptr(), first);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(parts[i].sum().item<double>(), 1.0 * i * kManyFloats);
  std::swap(parts[0], parts[1]);  // ends the middle one first
  while (!parts.empty()) parts.erase(parts.begin());
  const torch::Tensor again = torch::ones({4 * kManyFloats});
  EXPECT_EQ(again.data_ptr(), first);
  EXPECT_EQ(again.sum().item<double>(), 4.0 * kManyFloats);
}

TEST(TensorMemory, TwoTensorsAtATimeHaveTheirOwn) {
  const TensorMemory memory;
  for (const std::int64_t size : {1, 100, 20'000, 1'000'000}) {
    const torch::Tensor ones = torch::ones({size});
    const torch::Tensor twos = torch::full({size}, 2.0F);
    EXPECT_EQ(ones.sum().item<double>(), size);
    EXPECT_EQ(twos.sum().item<double>(), 2.0 * size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ones.data_ptr()) % 64, 0U);
  }
  EXPECT_EQ(torch::empty({0}).numel(), 0);
}

TEST(TensorMemory, ConvolutionsGiveTheSame) {
  torch::manual_seed(1);
  const torch::Tensor images = torch::randn({8, 3, 32, 32});
  const torch::Tensor filters = torch::randn({64, 3, 3, 3});
  const torch::Tensor expected = torch::conv2d(images, filters);
  const TensorMemory memory;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(torch::equal(torch::conv2d(images, filters), expected));
}

TEST(TensorMemory, TensorMayOutliveIt) {
  torch::Tensor tensor;
  {
    const TensorMemory memory;
    tensor = torch::ones({kManyFloats});
  }
  EXPECT_EQ(tensor.sum().item<double>(), kManyFloats);
  tensor = torch::zeros({kManyFloats});  // the one ends, and the other is of libtorch's own memory
  EXPECT_EQ(tensor.sum().item<double>(), 0.0);
}

TEST(TensorMemory, BlocksOfAnotherThreadCome) {
  const TensorMemory memory;
  const void* first = nullptr;
  std::thread([&first] { first = torch::ones({kManyFloats}).data_ptr(); }).join();
  EXPECT_EQ(torch::ones({kManyFloats}).data_ptr(), first);
}

TEST(TensorMemory, UnusedBlocksAreKeptUntilReleased) {
  constexpr std::int64_t kKib = 64 << 10;
  const TensorMemory memory;
  release_unused_memory();
  const std::int64_t before = resident();
  torch::ones({kKib * 256});
  EXPECT_GT(resident(), before + kKib / 2);
  release_unused_memory();
  EXPECT_LT(resident(), before + kKib / 2);
}

TEST(TensorMemory, TooLargeATensorIsAnErrorThatSaysSo) {
  const TensorMemory memory;
  try {
    torch::empty({std::int64_t{1} << 50});
    FAIL() << "a petabyte was given";
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what()).find("which the kernel does not give"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem::model
