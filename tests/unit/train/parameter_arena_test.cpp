#include "tandem/train/parameter_arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/script_modules.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"

namespace tandem::train {
namespace {

model::NetworkPtr small_network() {
  torch::manual_seed(3);
  return model::make_network("simple", {3, 32, 32}, 10);
}

torch::Tensor loss_of(model::Network& network) {
  torch::manual_seed(4);
  return network.forward(torch::randn({2, 3, 32, 32})).square().sum();
}

class Arena : public ::testing::TestWithParam<bool> {};

TEST_P(Arena, HoldsTheSameNumbersAsTheNetworkDid) {
  const auto reference = small_network();
  const auto network = small_network();
  ParameterArena arena(*network, GetParam());
  EXPECT_EQ(arena.parameter_count(), 62006U);
  const auto expected = reference->named_parameters();
  for (const auto& item : network->named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), expected[item.key()])) << item.key();
  }
  EXPECT_TRUE(torch::allclose(loss_of(*network), loss_of(*reference), 1e-5));
}

// As a checkpoint's copy of a GPU's arrays is.
TEST_P(Arena, ViewsAnArrayThatIsPartOfAPieceOfMemory) {
  const auto network = small_network();
  const ParameterArena arena(*network, GetParam());
  const std::int64_t size = arena.flat_values().numel();
  const torch::Tensor piece = torch::randn({64 + 2 * size});
  const torch::Tensor part = piece.narrow(0, 64 + size, size), alone = part.clone();
  for (const ParameterArena::Slot& slot : arena.slots()) {
    EXPECT_TRUE(torch::equal(arena.view_like(slot, part), arena.view_like(slot, alone)))
        << slot.name;
  }
}

TEST_P(Arena, LeavesFrozenParametersOutside) {
  const auto reference = small_network();
  const auto network = small_network();
  network->named_parameters()["conv2.weight"].set_requires_grad(false);
  ParameterArena arena(*network, GetParam());
  EXPECT_EQ(arena.parameter_count(), 62006U - 16 * 6 * 25);
  for (const auto& slot : arena.slots()) EXPECT_NE(slot.name, "conv2.weight");
  const torch::Tensor frozen = network->named_parameters()["conv2.weight"];
  EXPECT_TRUE(torch::equal(frozen, reference->named_parameters()["conv2.weight"]));
  EXPECT_EQ(frozen.is_contiguous(at::MemoryFormat::ChannelsLast), GetParam());
  loss_of(*network).backward();
  arena.check_views();
  EXPECT_FALSE(frozen.grad().defined());
}

TEST_P(Arena, GradientsStayViewsOverBackwardAndZero) {
  const auto reference = small_network();
  const auto network = small_network();
  ParameterArena arena(*network, GetParam());
  for (int round = 0; round < 2; ++round) {
    arena.zero_gradients();
    loss_of(*network).backward();
    arena.check_views();
  }
  loss_of(*reference).backward();
  const auto expected = reference->named_parameters();
  for (const auto& item : network->named_parameters()) {
    EXPECT_TRUE(torch::allclose(item.value().grad(), expected[item.key()].grad(), 1e-3, 1e-5))
        << item.key();
  }
  arena.zero_gradients();
  for (const auto& item : network->named_parameters()) {
    EXPECT_EQ(item.value().grad().abs().sum().item<float>(), 0.0F) << item.key();
  }
}

TEST_P(Arena, AlignsEverySlotTo64BytesInReverseOrder) {
  const auto network = small_network();
  ParameterArena arena(*network, GetParam());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.values().data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.gradients().data()) % 64, 0U);
  EXPECT_EQ(arena.slots().front().name, "fc3.bias");
  EXPECT_EQ(arena.slots().back().name, "conv1.weight");
  for (const auto& slot : arena.slots()) EXPECT_EQ(slot.offset % 16, 0U) << slot.name;
}

// The bits, in which -0 is not 0.
TEST_P(Arena, GradientsThatReplaceHaveTheBitsOfThoseAddedToZeros) {
  const auto network = small_network();
  ParameterArena arena(*network, GetParam());
  const auto bits = [&arena] {
    return std::vector<std::uint32_t>(
        reinterpret_cast<const std::uint32_t*>(arena.gradients().data()),
        reinterpret_cast<const std::uint32_t*>(arena.gradients().data()) +
            arena.gradients().size());
  };
  std::vector<std::vector<std::uint32_t>> expected;
  arena.zero_gradients();
  for (int pass = 0; pass < 2; ++pass) {
    loss_of(*network).backward();
    expected.push_back(bits());
  }
  for (const ParameterArena::Slot& slot : arena.slots()) slot.parameter.grad().fill_(NAN);
  arena.begin_gradients();
  for (int pass = 0; pass < 2; ++pass) {
    loss_of(*network).backward();
    EXPECT_EQ(bits(), expected[static_cast<std::size_t>(pass)]) << pass;
  }
  arena.check_views();
  arena.begin_gradients();
  arena.complete_gradients();
  EXPECT_EQ(arena.flat_gradients().count_nonzero().item<std::int64_t>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Arena, ::testing::Bool(), [](const auto& layout) {
  return layout.param ? "ChannelsLast" : "Planar";
});

TEST(ParameterArena, NoticesThatLibtorchsZeroGradDetachedTheViews) {
  const auto network = small_network();
  ParameterArena arena(*network, true);
  for (auto& parameter : network->parameters()) parameter.mutable_grad().reset();
  EXPECT_THROW(arena.check_views(), InternalError);
}

TEST(ParameterArena, MovesItsGradientsWithTheirNumbers) {
  const auto network = small_network();
  auto arena = std::make_unique<ParameterArena>(*network, true);
  arena->flat_gradients().fill_(3);
  const std::shared_ptr<float> memory(new float[arena->gradients().size()],
                                      std::default_delete<float[]>());
  const std::weak_ptr<float> watched = memory;
  arena->move_gradients(memory);
  arena->check_views();
  EXPECT_EQ(arena->gradients().data(), memory.get());
  EXPECT_EQ(network->parameters()[0].grad().max().item<float>(), 3);
  memory.get()[arena->slots().front().offset] = 7;
  EXPECT_EQ(arena->slots().front().parameter.grad().max().item<float>(), 7);
  arena.reset();
  EXPECT_GT(watched.use_count(), 1) << "the network's gradients still lie there";
}

TEST(ArenaOfTorchScript, IsWhatTheModuleComputesWith) {
  torch::manual_seed(1);
  const model::InputShape shape{1, 8, 6};
  const auto network = model::make_script_network(
      "net.pt", model::bytes_of(model::script_net(shape, 3, {true, 0})), shape, 3);
  const torch::Tensor images = torch::randn({4, 1, 8, 6});
  const torch::Tensor before = network->forward(images);
  ParameterArena arena(*network, /*channels_last=*/false);
  arena.zero_gradients();
  const torch::Tensor after = network->forward(images);
  EXPECT_TRUE(after.allclose(before));
  after.square().sum().backward();
  arena.check_views();
  EXPECT_GT(arena.flat_gradients().abs().max().item<float>(), 0);
  arena.flat_values().zero_();
  EXPECT_EQ(network->forward(images).abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace tandem::train
