// Every network, precision, layout and optimizer on the device: on a GPU where TANDEM_TEST_GPU is
// "real", else the parts for GPUs on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "support/mpi_test.hpp"
#include "tandem/model/network_names.hpp"
#include "train_on.hpp"

namespace tandem::train {
namespace {

using model::Precision;

constexpr double kOfFp32 = 2e-3;
constexpr double kOfFewerBits = 5e-2;  // bf16, and fp16, which is nearer

TrainConfig config_of(const std::string& network, const std::string& optimizer) {
  TrainConfig config = base_config();
  config.model = network;
  config.channels_last = !model::is_script_file(network);  // theirs view planar images
  config.global_batch_size = 8;
  config.max_steps = 3;
  config.optimizer.name = optimizer;
  config.optimizer.nesterov = optimizer == "muon";
  config.learning_rate = optimizer == "sgd" ? 0.005 : optimizer == "lars" ? 1 : 5e-4;
  // Where a gradient is little more than rounding, adamw would else step by its sign.
  config.optimizer.epsilon = 1e-3;
  config.optimizer.head_rate = 0.01;
  config.optimizer.bias_rate = 0.001;
  return config;
}

// A CPU would take minutes for all that a GPU tries.
bool is_too_large(const std::string& network) {
  return !testing::wants_gpu() &&
         (network == "resnet9" || network == "resnet18" || network == "vit-tiny");
}

// They have the layers of the smaller ones.
bool is_for_gpus(const std::string& network) {
  return network == "resnet34" || network == "resnet50" || network == "vit-small";
}

std::vector<Precision> precisions_of(const std::string& network) {
  if (is_too_large(network)) return {Precision::kBf16};
  std::vector<Precision> all{Precision::kFp32, Precision::kBf16};
  if (testing::wants_gpu()) all.push_back(Precision::kFp16);  // CPUs do not compute with it
  return all;
}

std::vector<std::string> networks() {
  std::vector<std::string> all;
  for (const std::string& name : model::network_names()) {
    if (testing::wants_gpu() || !is_for_gpus(name)) all.push_back(name);
  }
  for (const char* script : {"plain.pt", "batch-norm.pt"}) all.emplace_back(script);
  return all;
}

bool is_tried(const std::string& network, const std::string& optimizer, bool channels_last) {
  const bool is_script = model::is_script_file(network);
  const bool is_layerwise = optimizer == "lars" || optimizer == "lamb";
  if (is_layerwise && !testing::wants_gpu() && network != "lenet") return false;
  if (testing::wants_gpu()) return !(is_script && channels_last);
  return channels_last != is_script && !(is_too_large(network) && optimizer != "sgd");
}

class DeviceTable : public ::testing::TestWithParam<std::string> {
 protected:
  Outcome on(Form form, const TrainConfig& config) {
    Manner manner;
    manner.form = form;
    return train_on(world_, config, set_, manner);
  }
  Outcome on_device(const TrainConfig& config, bool streams = false) {
    Manner manner;
    manner.form = Form::kDevice;
    manner.streams = streams;
    return train_on(world_, config, set_, manner);
  }

  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  const Images set_{64};
};

void expect_whole(const Outcome& outcome) {
  for (const double loss : outcome.losses) EXPECT_TRUE(std::isfinite(loss));
  for (const torch::Tensor& parameter : outcome.parameters) {
    EXPECT_TRUE(parameter.isfinite().all().item<bool>());
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_GT(parameter.grad().abs().sum().item<float>(), 0) << parameter.sizes();
  }
  EXPECT_EQ(outcome.result.skipped_steps, 0U);
}

TEST_P(DeviceTable, TrainsAsTheHostDoes) {
  for (const char* optimizer : {"sgd", "adamw", "muon", "lars", "lamb"}) {
    std::optional<Outcome> expected;
    for (const Precision precision : precisions_of(GetParam())) {
      for (const bool channels_last : {true, false}) {
        if (!is_tried(GetParam(), optimizer, channels_last)) continue;
        if (!expected) expected = on(Form::kHost, config_of(GetParam(), optimizer));
        ASSERT_EQ(expected->losses.size(), world_.rank() == 0 ? 3U : 0U);
        TrainConfig config = config_of(GetParam(), optimizer);
        config.precision = precision;
        config.channels_last = channels_last;
        SCOPED_TRACE(std::string(optimizer) + (channels_last ? ", channels-last" : ", planar") +
                     ", precision " + std::to_string(static_cast<int>(precision)));
        const Outcome found = on_device(config);
        expect_whole(found);
        expect_same_curve(found, *expected, precision == Precision::kFp32 ? kOfFp32 : kOfFewerBits);
      }
    }
  }
}

class StreamedTable : public DeviceTable {};

TEST_P(StreamedTable, GivesTheBitsOfResidentImages) {
  TrainConfig config = config_of(GetParam(), "sgd");
  config.precision = Precision::kBf16;
  config.eval_every = 1;
  const Outcome resident = on_device(config);
  const Outcome streamed = on_device(config, true);
  EXPECT_EQ(resident.weights, streamed.weights);
  EXPECT_EQ(resident.losses, streamed.losses);
  if (world_.rank() != 0) return;
  ASSERT_TRUE(resident.result.last_evaluation && streamed.result.last_evaluation);
  EXPECT_EQ(resident.result.last_evaluation->loss, streamed.result.last_evaluation->loss);
  EXPECT_EQ(resident.result.last_evaluation->correct, streamed.result.last_evaluation->correct);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& each) {
  std::string name = each.param;
  for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
  return name;
}

std::vector<std::string> networks_to_stream() {
  std::vector<std::string> all = networks();
  all.erase(std::remove_if(all.begin(), all.end(), is_too_large), all.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Networks, DeviceTable, ::testing::ValuesIn(networks()), name_of);
INSTANTIATE_TEST_SUITE_P(Networks, StreamedTable, ::testing::ValuesIn(networks_to_stream()),
                         name_of);

// Pixels, batches and the order of additions are the same, so on one device all numbers are.
TEST(DeviceEvaluation, EqualsThatWithImagesOfTheHost) {
  auto world = comm::MpiCommunicator::world();
  const torch::Device place = place_of(Form::kDevice, world.rank());
  const Images set(1003);
  TrainConfig config = base_config();
  torch::manual_seed(4);
  const auto network = network_of(config, place);
  ParameterArena arena(*network, true, place);
  broadcast_weights(world, arena, *network);
  const data::Transform transform(kShape, data::Layout::kChannelsLast, {0.4}, {0.3});
  EvaluationSettings settings{transform, Precision::kFp32, kClasses, place, nullptr, 7, true, 50};
  const Evaluation expected = evaluate(world, *network, set.view(), settings);
  settings.moments = {{0.4}, {0.3}};
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    settings.resident_bytes = bytes;
    const Evaluation found = evaluate(world, *network, set.view(), settings);
    EXPECT_TRUE(found.completed);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.confusion, expected.confusion);
    EXPECT_EQ(found.views_accuracy, expected.views_accuracy);
    EXPECT_EQ(found.top5_accuracy, expected.top5_accuracy);
    ASSERT_EQ(found.worst.size(), expected.worst.size());
    for (std::size_t i = 0; i < found.worst.size(); ++i) {
      EXPECT_EQ(found.worst[i].image, expected.worst[i].image);
      EXPECT_EQ(found.worst[i].predicted, expected.worst[i].predicted);
      EXPECT_EQ(found.worst[i].loss, expected.worst[i].loss);
    }
  }
}

// With everything that a step keeps: dropout, buffers, a loss scale's sums, moments.
TEST(WarmUp, ChangesNoBit) {
  auto world = comm::MpiCommunicator::world();
  const Images set(64);
  for (const auto& [network, optimizer] :
       {std::pair{"everything.pt", "adamw"}, std::pair{"fastnet", "muon"},
        std::pair{"lenet", "sgd"}}) {
    for (const Form form : {Form::kHost, Form::kDevice}) {
      SCOPED_TRACE(network);
      TrainConfig config = config_of(network, optimizer);
      config.precision = Precision::kBf16;
      config.max_steps = 2;
      Manner manner;
      manner.form = form;
      manner.skip_nonfinite = true;
      const Outcome expected = train_on(world, config, set, manner);
      manner.warms_up = true;
      const Outcome found = train_on(world, config, set, manner);
      EXPECT_EQ(found.weights, expected.weights);
      EXPECT_EQ(found.losses, expected.losses);
      ASSERT_EQ(found.buffers.size(), expected.buffers.size());
      for (std::size_t i = 0; i < found.buffers.size(); ++i) {
        EXPECT_TRUE(torch::equal(found.buffers[i], expected.buffers[i])) << i;
      }
      EXPECT_EQ(found.result.images_seen, expected.result.images_seen);
    }
  }
}

TEST(WarmUp, HasTheSizesOfTheRunsBatches) {
  data::TrainingPlan plan;
  plan.image_count = 50;
  plan.global_batch = 16;
  plan.steps = 8;
  EXPECT_EQ(steps_of_each_size(plan), (std::vector<std::uint64_t>{0, 3}));
  plan.first_step = 5;
  EXPECT_EQ(steps_of_each_size(plan), (std::vector<std::uint64_t>{5, 7}));
  plan.first_step = 8;
  EXPECT_TRUE(steps_of_each_size(plan).empty());
  plan.first_step = 0;
  plan.accumulate = 2;
  WarmUpSampler sampler(plan, 3, 0, 2, 3);  // 2 images, one on each rank
  std::vector<std::size_t> sizes;
  while (const auto request = sampler.next()) {
    sizes.push_back(request->images.size());
    EXPECT_EQ(request->global_count, 2U);
    for (const std::uint32_t image : request->images) EXPECT_LT(image, sampler.image_count());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 0, 1, 0, 1, 0}));
}

}  // namespace
}  // namespace tandem::train
