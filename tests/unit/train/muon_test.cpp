#include "tandem/train/muon.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/golden.hpp"
#include "tandem/core/error.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/model/registry.hpp"
#include "train/optimizers/muon_banks.hpp"

namespace tandem::train {
namespace {

class Parameters : public torch::nn::Module {
 public:
  explicit Parameters(const Json& fixture) {
    for (const Json& one : fixture["shapes"]) {
      const auto shape = one[1].get<std::vector<std::int64_t>>();
      const std::string name = one[0];
      const auto values = fixture["initial"][name].get<std::vector<float>>();
      register_parameter(name, torch::tensor(values).view(shape));
    }
  }
};

OptimizerOptions options_of(const Json& fixture) {
  OptimizerOptions options;
  const Json& from = fixture["options"];
  options.name = "muon";
  options.momentum = from["momentum"];
  options.nesterov = true;
  options.weight_decay = from["weight_decay"];
  options.head_rate = from["head_rate"];
  options.bias_rate = from["bias_rate"];
  options.sgd_momentum = from["sgd_momentum"];
  options.early_steps = from["early_steps"];
  return options;
}

struct MuonForm {
  std::string name;
  bool channels_last;
  decltype(&make_muon) make;
};

class MuonTest : public ::testing::TestWithParam<MuonForm> {
 protected:
  MuonTest() : network_(fixture_), arena_(network_, GetParam().channels_last) {}

  void set_gradients(std::size_t step) {
    for (const auto& item : network_.named_parameters()) {
      const auto values = fixture_["gradients"][step][item.key()].get<std::vector<float>>();
      item.value().grad().copy_(torch::tensor(values).view(item.value().sizes()));
    }
  }
  double rate(std::size_t step) const {
    return fixture_["peak"].get<double>() * fixture_["shares"][step].get<double>();
  }
  std::unique_ptr<Optimizer> make() const {
    return GetParam().make(options_of(fixture_), arena_, fixture_["peak"], {"early"});
  }
  void step(Optimizer& optimizer, std::size_t number, const torch::Tensor& skipped = {}) {
    set_gradients(number);
    optimizer.step(arena_.flat_values(), arena_.flat_gradients(), rate(number), skipped);
  }

  const Json fixture_ = testing::read_golden("muon.json");
  Parameters network_;
  ParameterArena arena_;
};

// In either layout of filters: an orthogonal matrix stays one when its columns are exchanged.
TEST_P(MuonTest, FollowsThePublishedFormulas) {
  const torch::NoGradGuard no_grad;
  const auto optimizer = make();
  for (std::size_t number = 0; number < fixture_["expected"].size(); ++number) {
    step(*optimizer, number);
    for (const auto& item : network_.named_parameters()) {
      const auto expected = fixture_["expected"][number][item.key()].get<std::vector<float>>();
      const torch::Tensor found = item.value().flatten().contiguous();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<float>(), expected[i], 2e-5)
            << item.key() << ", step " << number << ", element " << i;
      }
    }
  }
  EXPECT_EQ(optimizer->steps(), 4U);
}

TEST_P(MuonTest, GoesOnFromItsState) {
  const torch::NoGradGuard no_grad;
  const auto whole = make();
  for (std::size_t number = 0; number < 2; ++number) step(*whole, number);
  const torch::Tensor values = arena_.flat_values().clone();
  const torch::Tensor velocity = whole->state().at(0).values.clone();
  for (std::size_t number = 2; number < 4; ++number) step(*whole, number);
  const torch::Tensor expected = arena_.flat_values().clone();

  const auto second_half = make();
  arena_.flat_values().copy_(values);
  second_half->state().at(0).values.copy_(velocity);
  second_half->set_steps(2);
  for (std::size_t number = 2; number < 4; ++number) step(*second_half, number);
  EXPECT_TRUE(torch::equal(arena_.flat_values(), expected));
}

TEST_P(MuonTest, AStepThatIsLeftOutChangesAndCountsNothing) {
  const torch::NoGradGuard no_grad;
  const auto optimizer = make();
  if (GetParam().make == make_muon) {
    EXPECT_THROW(step(*optimizer, 0, torch::zeros({})), InternalError);
    return;
  }
  step(*optimizer, 0, torch::zeros({}));
  const torch::Tensor values = arena_.flat_values().clone();
  const torch::Tensor velocity = optimizer->state().at(0).values.clone();
  arena_.flat_gradients().fill_(NAN);
  optimizer->step(arena_.flat_values(), arena_.flat_gradients(), 0.1, torch::ones({}));
  EXPECT_TRUE(torch::equal(arena_.flat_values(), values));
  EXPECT_TRUE(torch::equal(optimizer->state().at(0).values, velocity));
  EXPECT_EQ(optimizer->steps(), 1U);
}

// Some residual networks begin with such filters.
TEST_P(MuonTest, TrainsFiltersOfZeros) {
  const torch::NoGradGuard no_grad;
  auto parameters = network_.named_parameters();
  torch::Tensor filters = parameters["wide"];
  filters.zero_();
  const auto optimizer = make();
  step(*optimizer, 0);
  EXPECT_TRUE(arena_.flat_values().isfinite().all().item<bool>());
  EXPECT_GT(filters.norm().item<float>(), 0);
}

std::vector<MuonForm> muon_forms() {
  std::vector<MuonForm> forms{{"Planar", false, make_muon}, {"ChannelsLast", true, make_muon}};
#ifdef TANDEM_TEST_DEVICE_FORM
  forms.push_back({"PlanarForDevices", false, make_device_muon});
  forms.push_back({"ChannelsLastForDevices", true, make_device_muon});
#endif
  return forms;
}

TEST(Muon, PrefersBfloat16ProductsWithBf16AndAmx) {
  OptimizerOptions options;
  options.name = "muon";
  EXPECT_EQ(prefers_bfloat16_products(options, model::Precision::kBf16), kernels::has_amx());
  EXPECT_FALSE(prefers_bfloat16_products(options, model::Precision::kFp32));
  options.name = "sgd";
  EXPECT_FALSE(prefers_bfloat16_products(options, model::Precision::kBf16));
}

TEST(Muon, MultipliesInTheTypeOfItsOptions) {
  const torch::NoGradGuard no_grad;
  const Json fixture = testing::read_golden("muon.json");
  const auto trained = [&](bool bfloat16_products) {
    Parameters network(fixture);
    ParameterArena arena(network, false);
    OptimizerOptions options = options_of(fixture);
    options.bfloat16_products = bfloat16_products;
    torch::manual_seed(3);
    arena.flat_gradients().normal_();
    make_muon(options, arena, 0.2, {})->step(arena.flat_values(), arena.flat_gradients(), 0.2, {});
    return arena.flat_values().clone();
  };
  const torch::Tensor exact = trained(false);
  const torch::Tensor rounded = trained(true);
  EXPECT_FALSE(torch::equal(exact, rounded));
  EXPECT_LT(((exact - rounded).norm() / exact.norm()).item<double>(), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Forms, MuonTest, ::testing::ValuesIn(muon_forms()),
                         [](const auto& form) { return form.param.name; });

#ifdef TANDEM_TEST_DEVICE_FORM

struct MuonCase {
  std::string network;
  bool nesterov;
};

class DeviceMuonTest : public ::testing::TestWithParam<MuonCase> {};

// The weights and the state after some steps. The form for devices skips one of them.
std::vector<torch::Tensor> muon_trained(const MuonCase& with, decltype(&make_muon) make) {
  torch::manual_seed(5);
  const model::NetworkPtr network = model::make_network(with.network, {3, 32, 32}, 10);
  ParameterArena arena(*network, true);
  OptimizerOptions options;
  options.name = "muon";
  options.momentum = 0.6;
  options.nesterov = with.nesterov;
  options.weight_decay = 1e-3;
  options.early_steps = 3;
  const auto optimizer = make(options, arena, 0.24, network->early_parameters());
  for (int step = 0; step < 5; ++step) {
    arena.zero_gradients();  // also between the parameters
    for (const ParameterArena::Slot& slot : arena.slots()) {
      slot.parameter.grad().copy_(torch::randn(slot.parameter.sizes()));
    }
    torch::Tensor skipped;
    if (make != make_muon) skipped = torch::full({}, step == 2 ? 1.0F : 0.0F);
    if (step == 2 && make == make_muon) continue;
    if (step == 2) arena.flat_gradients().fill_(NAN);
    optimizer->step(arena.flat_values(), arena.flat_gradients(), 0.2 / (1 + step), skipped);
  }
  EXPECT_EQ(optimizer->steps(), 4U);
  EXPECT_EQ(optimizer->state().size(), 1U);
  EXPECT_EQ(optimizer->state()[0].name, "velocity");
  return {arena.flat_values().clone(), optimizer->state()[0].values.clone()};
}

TEST_P(DeviceMuonTest, ComesToTheNumbersOfTheFormForCpus) {
  const torch::NoGradGuard no_grad;
  const auto expected = muon_trained(GetParam(), make_muon);
  const auto found = muon_trained(GetParam(), make_device_muon);
  EXPECT_TRUE(torch::allclose(found[1], expected[1], 1e-5, 1e-6)) << "velocity";
  EXPECT_TRUE(torch::allclose(found[0], expected[0], 1e-4, 2e-5))
      << "weights differ by up to " << (found[0] - expected[0]).abs().max().item<float>();
}

// fastnet has early parameters and normal matrices, mlp matrices of two dimensions, lenet one bank
// of one matrix.
INSTANTIATE_TEST_SUITE_P(Networks, DeviceMuonTest,
                         ::testing::Values(MuonCase{"fastnet", true}, MuonCase{"fastnet", false},
                                           MuonCase{"mlp", true}, MuonCase{"lenet", true}),
                         [](const auto& each) {
                           return each.param.network +
                                  (each.param.nesterov ? "" : "WithoutNesterov");
                         });

#endif

MuonPiece matrix_of(std::int64_t rows, std::int64_t columns) {
  return {MuonPiece::Kind::kMatrix, false, true, rows, 0, rows * columns};
}

TEST(MuonBanks, PadSmallMatricesAndKeepLargeShapesApart) {
  const std::vector<MuonBank> fastnet =
      muon_banks_of({matrix_of(256, 2304), matrix_of(256, 2304), matrix_of(256, 2304),
                     matrix_of(256, 576), matrix_of(64, 576), matrix_of(64, 216)});
  ASSERT_EQ(fastnet.size(), 1U);
  EXPECT_EQ(fastnet[0].rows, 256);
  EXPECT_EQ(fastnet[0].columns, 2304);
  EXPECT_EQ(fastnet[0].size(), 6);
  const std::vector<MuonBank> large = muon_banks_of(
      {matrix_of(512, 4608), matrix_of(64, 27), matrix_of(512, 2304), matrix_of(512, 2304)});
  ASSERT_EQ(large.size(), 2U);
  EXPECT_EQ(large[0].columns, 4608);
  EXPECT_EQ(large[0].size(), 1);
  EXPECT_EQ(large[1].columns, 2304);
  EXPECT_EQ(large[1].size(), 3) << "27 columns of 64 rows cost nothing beside 512 x 2304";
}

TEST(Orthogonalized, BringsSingularValuesNearOne) {
  torch::manual_seed(3);
  for (const auto& [rows, columns] : {std::pair{16, 40}, std::pair{40, 16}, std::pair{16, 16}}) {
    const torch::Tensor matrix = torch::randn({rows, columns});
    const torch::Tensor found = std::get<1>(torch::svd(orthogonalized(matrix)));
    // Small ones of a square matrix need more iterations than these three.
    if (rows != columns) {
      EXPECT_GT(found.min().item<float>(), 0.6) << rows << "x" << columns;
    }
    EXPECT_LT(found.max().item<float>(), 1.25) << rows << "x" << columns;
  }
}

TEST(Orthogonalized, RoundsProductsOnRequest) {
  // bfloat16 rounds by up to 2^-9, and an iteration multiplies by up to the sum of its
  // coefficients.
  const double allowed =
      NewtonSchulz::kIterations * (NewtonSchulz::kA - NewtonSchulz::kB + NewtonSchulz::kC) / 512;
  torch::manual_seed(3);
  for (const auto& [rows, columns] : {std::pair{16, 40}, std::pair{256, 64}}) {
    const torch::Tensor matrix = torch::randn({rows, columns});
    const torch::Tensor exact = orthogonalized(matrix);
    const torch::Tensor rounded = orthogonalized(matrix, torch::kBFloat16);
    EXPECT_EQ(rounded.scalar_type(), torch::kFloat32);
    EXPECT_EQ(rounded.sizes(), exact.sizes());
    EXPECT_TRUE(torch::equal(rounded, rounded.to(torch::kBFloat16).to(torch::kFloat32)));
    const double error = ((rounded - exact).norm() / exact.norm()).item<double>();
    EXPECT_GT(error, 1e-4) << rows << "x" << columns;
    EXPECT_LT(error, allowed) << rows << "x" << columns;
  }
}

}  // namespace
}  // namespace tandem::train
