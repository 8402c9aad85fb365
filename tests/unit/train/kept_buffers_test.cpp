// A step whose update is skipped leaves the network's buffers unchanged.
#include "tandem/train/kept_buffers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/script_modules.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::train {
namespace {

constexpr model::InputShape kShape{3, 8, 8};

std::vector<torch::Tensor> copies_of(const model::Network& network) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& buffer : network.buffers()) copies.push_back(buffer.clone());
  return copies;
}

bool has_buffers(const model::Network& network, const std::vector<torch::Tensor>& expected) {
  const std::vector<torch::Tensor> buffers = network.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!torch::equal(buffers[i], expected[i])) return false;
  }
  return buffers.size() == expected.size() && !expected.empty();
}

// BatchNorm, which updates its statistics in place, and a counter that forward() replaces by
// another tensor.
model::NetworkPtr moving_network() {
  torch::jit::Module net = model::script_net(kShape, 2, {true, 0});
  torch::jit::Module counting = model::script_part("Counting", "", {{"scale", torch::ones({1})}},
                                                   {{"count", torch::zeros({1})}});
  counting.register_module("net", net);
  counting.define(
      "def forward(self, x):\n"
      "  if self.training:\n"
      "    self.count = self.count + 1\n"
      "  return self.net.forward(x) * self.scale\n");
  return model::make_script_network("counting.pt", model::bytes_of(counting), kShape, 2);
}

// One step; with `poison` its images, and so its statistics, are not finite.
void make_step(model::Network& network, ParameterArena& arena, StepBackend& backend,
               KeptBuffers* kept, bool poison) {
  if (kept != nullptr) kept->keep();
  network.train();
  network.forward(torch::full({4, 3, 8, 8}, poison ? INFINITY : 0.5F));
  arena.flat_gradients().fill_(poison ? NAN : 0.25);
  backend.update(0, 0.5, kept);
}

void expect_restored(const model::NetworkPtr& network, ParameterArena& arena,
                     StepBackend& backend) {
  KeptBuffers kept(*network);
  const auto first = copies_of(*network);
  make_step(*network, arena, backend, &kept, false);
  const auto moved = copies_of(*network);
  EXPECT_FALSE(has_buffers(*network, first)) << "a step that counts moves them";
  make_step(*network, arena, backend, &kept, true);
  EXPECT_TRUE(has_buffers(*network, moved)) << "one that is left out does not";
  make_step(*network, arena, backend, &kept, false);
  EXPECT_FALSE(has_buffers(*network, moved));
  make_step(*network, arena, backend, nullptr, true);
  bool finite = true;
  for (const torch::Tensor& buffer : network->buffers()) {
    finite = finite && (!buffer.is_floating_point() || buffer.isfinite().all().item<bool>());
  }
  EXPECT_FALSE(finite) << "the step of this test poisons what nobody keeps";
}

TEST(KeptBuffers, AreRestoredOnTheHost) {
  const model::NetworkPtr network = moving_network();
  ParameterArena arena(*network, false);
  const auto optimizer = make_optimizer({"sgd", 0}, arena.values().size());
  const auto backend = make_step_backend(arena, *optimizer, 0);
  expect_restored(network, arena, *backend);
}

TEST(KeptBuffers, AreRestoredWhereATensorSaysSo) {
  const model::NetworkPtr network = moving_network();
  KeptBuffers kept(*network);
  kept.keep();
  const auto before = copies_of(*network);
  network->forward(torch::full({4, 3, 8, 8}, INFINITY));
  kept.restore_where(torch::zeros({}));
  EXPECT_FALSE(has_buffers(*network, before));
  kept.restore_where(torch::ones({1}));
  EXPECT_TRUE(has_buffers(*network, before));
}

#ifdef TANDEM_TEST_DEVICE_FORM
TEST(KeptBuffers, AreRestoredInTheFormForDevices) {
  const model::NetworkPtr network = moving_network();
  ParameterArena arena(*network, false);
  const auto optimizer = make_device_optimizer({"sgd", 0}, arena.values().size(), torch::kCPU);
  const auto backend = make_device_step_backend(arena, *optimizer, 0, model::Precision::kFp32);
  expect_restored(network, arena, *backend);
}
#endif

TEST(KeptBuffers, OfANetworkWithoutBuffersAreNothing) {
  const model::NetworkPtr network = model::make_network("lenet", {1, 28, 28}, 10);
  KeptBuffers kept(*network);
  kept.keep();
  kept.restore();
  kept.restore_where(torch::ones({}));
  EXPECT_TRUE(network->buffers().empty());
}

}  // namespace
}  // namespace tandem::train
