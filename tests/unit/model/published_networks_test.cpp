// The networks that torchvision and timm publish, with names and logits of theirs.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/golden.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::model {
namespace {

constexpr std::int64_t kPrime = 1'234'567'891;
constexpr std::int64_t kModulus = std::int64_t{1} << 31;

// Of tests/golden/make_network_fixtures.py, where the cases come from.
torch::Tensor hashed(std::int64_t number, std::int64_t count) {
  torch::Tensor h =
      (torch::arange(count, torch::kInt64) + 7919 * number + 1).mul(kPrime).remainder(kModulus);
  for (const int shift : {15, 13}) {
    h = h.bitwise_xor(h.floor_divide(1 << shift)).mul(kPrime).remainder(kModulus);
  }
  return (h.to(torch::kFloat64) / static_cast<double>(kModulus / 2) - 1).to(torch::kFloat32);
}

torch::Tensor weights_of(const NamedTensor& of, std::int64_t number) {
  const torch::Tensor values = hashed(number, of.tensor.numel()).view_as(of.tensor);
  if (ends_with(of.name, "_embed") || ends_with(of.name, "_token")) return 0.5 * values;
  if (of.tensor.dim() > 1) {
    return values * std::sqrt(3 / static_cast<double>(of.tensor[0].numel()));
  }
  if (ends_with(of.name, "running_var")) return 1 + 0.5 * values;
  if (ends_with(of.name, "weight")) return 1 + 0.2 * values;
  return 0.2 * values;
}

// Sets all weights. Returns the digest of the names.
std::string fill(Network& network) {
  std::string lines;
  std::int64_t number = 0;
  for (const NamedTensor& each : state_dict(network)) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : each.tensor.sizes()) sizes.push_back(std::to_string(size));
    lines += each.name + " " + join(sizes, ",") + "\n";
    torch::Tensor tensor = each.tensor;
    if (tensor.is_floating_point()) tensor.copy_(weights_of(each, number));
    ++number;
  }
  return sha256_hex(lines);
}

TEST(PublishedNetworks, HaveTheirNamesShapesAndLogits) {
  const torch::NoGradGuard no_grad;
  const Json golden = testing::read_golden("networks.json");
  const auto classes = golden.at("classes").get<std::int64_t>();
  const auto images = golden.at("images").get<std::int64_t>();
  for (const Json& each : golden.at("cases")) {
    const auto name = each.at("network").get<std::string>();
    const auto sides = each.at("shape").get<std::vector<std::int64_t>>();
    SCOPED_TRACE(name + " " + each.at("shape").dump());
    const Stem stem = parse_stem(each.value("stem", "cifar"));
    const NetworkPtr network =
        make_network(name, {sides[0], sides[1], sides[2]}, classes, {}, stem);
    EXPECT_EQ(fill(*network), each.at("names").get<std::string>());
    network->eval();
    const torch::Tensor x = 2 * hashed(9999, images * sides[0] * sides[1] * sides[2])
                                    .view({images, sides[0], sides[1], sides[2]});
    const torch::Tensor expected =
        torch::tensor(each.at("logits").get<std::vector<double>>()).view({images, classes});
    const torch::Tensor found = network->forward(x);
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-4);
  }
}

}  // namespace
}  // namespace tandem::model
