#include <gtest/gtest.h>

#include "tandem/model/registry.hpp"

namespace tandem::model {
namespace {

NetworkPtr make() { return make_network("fastnet", {3, 32, 32}, 10); }

torch::Tensor named(const NetworkPtr& network, const std::string& name) {
  const auto parameters = network->named_parameters();
  const torch::Tensor* found = parameters.find(name);
  return found != nullptr ? *found : network->named_buffers()[name];
}

TEST(FastNet, StartsAsThePublishedOne) {
  torch::manual_seed(1);
  const NetworkPtr network = make();
  // Filter i of the first ones passes channel i on; those beyond are PyTorch's.
  const torch::Tensor filters = named(network, "group2.conv1.weight");
  torch::Tensor dirac = torch::zeros({64, 64, 3, 3});
  for (int i = 0; i < 64; ++i) dirac[i][i][1][1] = 1;
  EXPECT_TRUE(torch::equal(filters.narrow(0, 0, 64), dirac));
  const double bound = 1 / std::sqrt(64.0 * 9);
  EXPECT_NEAR(filters.narrow(0, 64, 192).abs().max().item<double>(), bound, 0.05 * bound);
  EXPECT_NEAR(named(network, "head.weight").std().item<double>(), 1, 1e-6);
  EXPECT_EQ(named(network, "group3.norm2.bias").count_nonzero().item<std::int64_t>(), 0);
  EXPECT_EQ(network->early_parameters(), std::vector<std::string>{"whiten.bias"});
  EXPECT_FALSE(network->named_parameters().contains("whiten.weight"));
}

// Filters that turn what they learned from into uncorrelated numbers of variance 1, and their
// negatives.
TEST(FastNet, LearnsToWhiten) {
  torch::manual_seed(2);
  const NetworkPtr network = make();
  EXPECT_EQ(network->images_to_learn_from(), 5000);
  // Neighboring pixels alike, and channels of unlike sizes.
  const torch::Tensor noise = torch::randn({600, 3, 33, 33});
  const torch::Tensor images = (noise.narrow(3, 0, 32) + noise.narrow(3, 1, 32)).narrow(2, 0, 32) *
                               torch::tensor({0.5F, 1.0F, 2.0F}).view({1, 3, 1, 1});
  network->init_from_data(images);
  const torch::Tensor filters = named(network, "whiten.weight");
  EXPECT_TRUE(torch::equal(filters.narrow(0, 0, 12), -filters.narrow(0, 12, 12)));
  const torch::Tensor seen =
      torch::conv2d(images, filters.narrow(0, 0, 12)).transpose(0, 1).reshape({12, -1});
  const torch::Tensor covariance = seen.mm(seen.t()) / static_cast<double>(seen.size(1));
  // kWhiteningEpsilon takes a little off.
  EXPECT_TRUE(torch::allclose(covariance, torch::eye(12), 0.01, 0.01)) << covariance;
}

}  // namespace
}  // namespace tandem::model
