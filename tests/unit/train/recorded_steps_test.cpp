#include "tandem/train/recorded_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "support/lone_communicator.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {
namespace {

// Does again what was recorded, on the host.
class FakeGraph final : public model::StepGraph {
 public:
  void capture(const std::function<void()>& work) override { work_ = work; }
  void replay() override { work_(); }

 private:
  std::function<void()> work_;
};

class RefusingGraph final : public model::StepGraph {
 public:
  void capture(const std::function<void()>& work) override {
    work();
    throw std::runtime_error("operation not permitted when stream is capturing");
  }
  void replay() override { FAIL() << "there is nothing to repeat"; }
};

TEST(RecordedSteps, ARunOfOneRankOnAGpuIsRecorded) {
  RecordingFacts facts;
  facts.has_graphs = true;
  EXPECT_EQ(why_not_recorded(facts), "");
}

TEST(RecordedSteps, SaysWhyARunIsNotRecorded) {
  const auto reason = [](void (*change)(RecordingFacts&)) {
    RecordingFacts facts;
    facts.has_graphs = true;
    change(facts);
    return why_not_recorded(facts);
  };
  using Facts = RecordingFacts;
  EXPECT_EQ(reason([](Facts& of) { of.is_wanted = false; }), "--cuda-graph off");
  EXPECT_NE(reason([](Facts& of) { of.has_graphs = false; }).find("libtandem_gpu"),
            std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.profiles = true; }).find("--profile"), std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.is_script = true; }).find("TorchScript"), std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.weighs_classes = true; }).find("--class-weights"),
            std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.augments_on_host = true; }).find("--augment"),
            std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.has_resident_images = false; }).find("images"),
            std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.sums_on_host = true; }).find("MPI"), std::string::npos);
  EXPECT_NE(reason([](Facts& of) { of.micro_batches = 2; }).find("--accumulate"),
            std::string::npos);
}

TEST(RecordedSteps, RecordsAfterWarmUpAndNeverTheShortBatchOfAnEpoch) {
  int graphs = 0;
  int made = 0;
  RecordedSteps steps(
      [&] {
        ++graphs;
        return std::make_unique<FakeGraph>();
      },
      [](const std::string& why) { FAIL() << why; });
  const auto run = [&](std::size_t images, std::size_t parameters) {
    steps.run({images, parameters}, [&] { ++made; });
  };
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int step = 0; step < 6; ++step) run(64, 9);
    run(10, 9);
  }
  EXPECT_EQ(graphs, 1);
  EXPECT_EQ(made, 35) << "each step exactly once";
  EXPECT_EQ(steps.repeated(), 27U) << "all of 30 but three";
  steps.run({64, 9, 127}, [&] { ++made; });  // other ranks have fewer images, so 1/n is another
  EXPECT_EQ(steps.repeated(), 27U);
  --made;
  for (int step = 0; step < 6; ++step) run(64, 8);  // fewer parameters are trained from here on
  EXPECT_EQ(graphs, 2);
  EXPECT_EQ(steps.repeated(), 30U);
  EXPECT_EQ(made, 41);
}

TEST(RecordedSteps, GoesOnWithoutWhereRecordingFailsAndSaysSoOnce) {
  std::vector<std::string> told;
  int made = 0;
  RecordedSteps steps([] { return std::make_unique<RefusingGraph>(); },
                      [&](const std::string& why) { told.push_back(why); });
  for (int step = 0; step < 10; ++step) steps.run({64, 9}, [&] { ++made; });
  EXPECT_EQ(made, 11) << "the one that failed began twice";
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("not permitted when stream is capturing"), std::string::npos);
}

#ifdef TANDEM_TEST_DEVICE_FORM

struct FewPictures {
  std::vector<std::uint8_t> pixels;
  std::vector<data::Label> labels;
  static constexpr std::size_t kCount = 44;

  FewPictures() : pixels(kCount * 3 * 32 * 32), labels(kCount) {
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<std::uint8_t>(i * 7919 >> 4);
    for (std::size_t i = 0; i < kCount; ++i) labels[i] = static_cast<data::Label>(i % 10);
  }
  data::ImagesView view() const {
    return {{3, 32, 32}, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

struct TrainedNetwork {
  torch::Tensor weights;
  std::vector<torch::Tensor> buffers;
  StepOutcome outcome;
  std::size_t repeated = 0;
  std::vector<std::string> told;
};

struct Way {
  std::string network;
  std::string optimizer;
};

std::unique_ptr<Optimizer> device_optimizer_of(const Way& way, ParameterArena& arena,
                                               const model::Network& network) {
  OptimizerOptions options;
  options.name = way.optimizer;
  options.nesterov = true;
  options.early_steps = 6;
  if (way.optimizer == "muon") {
    return make_device_muon(options, arena, 0.1, network.early_parameters());
  }
  return make_device_optimizer(options, arena.values().size(), torch::kCPU);
}

// Two epochs of six batches, the last of them short. The gradient of one step is no number, and in
// the second epoch the early parameters are frozen.
TrainedNetwork train_by(const Way& way, const StepGraphMaker& maker) {
  constexpr std::uint64_t kSteps = 14;
  constexpr std::uint64_t kPoisoned = 5;
  constexpr std::uint64_t kFrozenFrom = 7;
  torch::manual_seed(4);
  const FewPictures pictures;
  const model::NetworkPtr network = model::make_network(way.network, {3, 32, 32}, 10);
  ParameterArena arena(*network, true);
  testing::LoneCommunicator alone;
  Reducer exchange(arena, alone, 0);
  const auto optimizer = device_optimizer_of(way, arena, *network);
  const auto backend = make_device_step_backend(arena, *optimizer, 0, model::Precision::kFp32);
  data::TrainingPlan plan;
  plan.image_count = FewPictures::kCount;
  plan.global_batch = 7;
  plan.steps = kSteps;
  ResidentBatches batches(pictures.view(), data::Layout::kChannelsLast,
                          {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
                          {data::AugmentSpec::parse("crop=4,flip"), 3},
                          std::make_unique<data::TrainingSampler>(plan, 0, 1), torch::kCPU);
  TrainedNetwork trained;
  RecordedSteps recorded(maker, [&](const std::string& why) { trained.told.push_back(why); });
  StepSettings settings;
  settings.skip_nonfinite = true;
  StepRunner runner(
      {*network, arena, exchange, *backend, batches, maker == nullptr ? nullptr : &recorded},
      settings);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    if (step == kFrozenFrom) {
      for (const std::string& name : network->early_parameters()) {
        network->named_parameters()[name].set_requires_grad(false);
      }
    }
    const torch::Tensor weight = arena.flat_values().slice(0, 0, 1);
    const torch::Tensor before = weight.clone();
    if (step == kPoisoned) weight.fill_(NAN);
    runner.run(step, 0.05 / static_cast<double>(step + 1));
    if (step == kPoisoned) weight.copy_(before);
  }
  trained.weights = arena.flat_values().clone();
  for (const torch::Tensor& each : network->buffers()) trained.buffers.push_back(each.clone());
  trained.outcome = backend->drain();
  trained.repeated = recorded.repeated();
  return trained;
}

class RecordedTraining : public ::testing::TestWithParam<Way> {};

TEST_P(RecordedTraining, HasTheBitsOfStepsThatAreNotRecorded) {
  const TrainedNetwork expected = train_by(GetParam(), nullptr);
  const TrainedNetwork found = train_by(GetParam(), [] { return std::make_unique<FakeGraph>(); });
  EXPECT_TRUE(found.told.empty());
  EXPECT_GE(found.repeated, 4U);
  EXPECT_TRUE(torch::equal(found.weights, expected.weights));
  EXPECT_TRUE(found.weights.isfinite().all().item<bool>());
  ASSERT_EQ(found.buffers.size(), expected.buffers.size());
  for (std::size_t i = 0; i < found.buffers.size(); ++i) {
    EXPECT_TRUE(torch::equal(found.buffers[i], expected.buffers[i])) << "buffer " << i;
  }
  EXPECT_EQ(found.outcome.sums.loss, expected.outcome.sums.loss);
  EXPECT_EQ(found.outcome.sums.images, expected.outcome.sums.images);
  EXPECT_EQ(found.outcome.sums.id_hash, expected.outcome.sums.id_hash);
  EXPECT_EQ(found.outcome.sums.counted_images, expected.outcome.sums.counted_images);
  EXPECT_EQ(found.outcome.last.loss, expected.outcome.last.loss);
  EXPECT_EQ(found.outcome.skipped, 1U);
  EXPECT_EQ(found.outcome.first_skipped, 5U);
}

TEST_P(RecordedTraining, HasThemAlsoWhereRecordingFails) {
  const TrainedNetwork expected = train_by(GetParam(), nullptr);
  const TrainedNetwork found =
      train_by(GetParam(), [] { return std::make_unique<RefusingGraph>(); });
  EXPECT_EQ(found.told.size(), 1U);
  EXPECT_EQ(found.outcome.sums.images, expected.outcome.sums.images) << "counted once";
}

INSTANTIATE_TEST_SUITE_P(Networks, RecordedTraining,
                         ::testing::Values(Way{"fastnet", "muon"}, Way{"lenet", "sgd"},
                                           Way{"mlp", "adamw"}),
                         [](const auto& way) { return way.param.network; });

#endif

}  // namespace
}  // namespace tandem::train
