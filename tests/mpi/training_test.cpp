// That the ranks train as one: the mathematics of the whole loop, without files or options.
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "support/mpi_test.hpp"
#include "train_on.hpp"

namespace tandem::train {
namespace {

void expect_like_one_rank(const TrainConfig& config, std::size_t images = 1001) {
  auto world = comm::MpiCommunicator::world();
  auto self = comm::MpiCommunicator::self();
  const Images set(images);
  const Outcome together = train_on(world, config, set);
  EXPECT_TRUE(together.ranks_equal_at_every_step);
  const Outcome single = train_on(self, config, set, {-world.rank()});
  if (world.rank() == 0) expect_same_curve(together, single);
}

TEST(Training, FollowsTheLossCurveOfOneRankFor50Steps) { expect_like_one_rank(base_config()); }

// The parameters after one step of plain SGD as libtorch does it, on the whole global batch at
// once.
std::vector<torch::Tensor> one_plain_step(const TrainConfig& config, const Images& images) {
  torch::manual_seed(config.seed);
  const auto network = model::make_network(config.model, {1, 28, 28}, kClasses);
  const auto arithmetic = BatchArithmetic::of(config, images.labels.size(), 1);
  const auto plan = training_plan(config, arithmetic, images.labels.size());
  LoadedBatches batches(images.view(), data::Transform(kShape, data::Layout::kPlanar, {0.4}, {0.3}),
                        {config.augment, config.seed},
                        std::make_unique<data::TrainingSampler>(plan, 0, 1));
  const TensorBatch batch = batches.next().value();
  const auto logits = network->forward(batch.images);
  torch::Tensor weights;
  if (config.weighs_classes()) {
    weights = torch::tensor(config.class_weights, torch::kFloat32);
  }
  at::cross_entropy_loss(logits, batch.labels, weights, at::Reduction::Mean, -100,
                         config.label_smoothing)
      .backward();
  const auto parameters = network->parameters();
  const double norm = torch::nn::utils::clip_grad_norm_(parameters, config.clip_norm);
  EXPECT_GT(norm, config.clip_norm) << "nothing was clipped";
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : parameters) {
    parameter.sub_(parameter.grad(), config.learning_rate);
  }
  return parameters;
}

// One step of `config`, on any number of ranks.
void expect_plain_step(TrainConfig config) {
  auto world = comm::MpiCommunicator::world();
  config.max_steps = 1;
  config.label_smoothing = 0.1;
  config.clip_norm = 0.2;
  config.learning_rate = 1;
  config.optimizer.momentum = 0;
  const Images set(1001);
  const auto expected = one_plain_step(config, set);
  const Outcome outcome = train_on(world, config, set);
  ASSERT_EQ(outcome.parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double largest = (outcome.parameters[i] - expected[i]).abs().max().item<double>();
    EXPECT_LT(largest, 1e-6) << "parameter " << i;
  }
}

TEST(Training, TakesTheStepThatPlainLibtorchTakes) { expect_plain_step(base_config()); }

// 25 images: slices of ranks are uneven, and so are the weights of their images.
TEST(Training, WeighsClassesAsPlainLibtorchDoes) {
  TrainConfig config = base_config();
  config.global_batch_size = 25;
  config.class_weights = {4, 1, 1, 0.25, 1, 2, 1, 1, 8, 0.5};
  expect_plain_step(config);
}

TEST(Training, ClassWeightsAreThoseOfOneRankInShortBatchesAndMicroBatches) {
  TrainConfig config = base_config();
  config.global_batch_size = 10;
  config.accumulate = 2;
  config.max_steps = 0;
  config.epochs = 3;
  config.has_balanced_classes = true;
  expect_like_one_rank(config, 21);
}

TEST(Training, BucketsChangeNothing) {
  TrainConfig config = base_config();
  config.bucket_mb = 0.001;
  config.max_steps = 10;
  expect_like_one_rank(config);
}

TEST(Training, GradientIsTheMeanWithAccumulation) {
  TrainConfig config = base_config();
  config.accumulate = 3;
  config.max_steps = 10;
  auto world = comm::MpiCommunicator::world();
  auto self = comm::MpiCommunicator::self();
  const Images set(1001);
  const Outcome together = train_on(world, config, set);
  config.accumulate = 1;
  const Outcome single = train_on(self, config, set, {-world.rank()});
  if (world.rank() == 0) expect_same_curve(together, single);
}

TEST(Training, GradientIsTheMeanOfAShortLastBatchAndWithRanksWithoutImages) {
  TrainConfig config = base_config();
  config.global_batch_size = 10;
  config.max_steps = 0;
  config.epochs = 3;
  expect_like_one_rank(config,
                       21);  // batches of 10, 10 and 1: most ranks have no image in the last
}

TEST(Training, ClippingAndSmoothingAreThoseOfOneRank) {
  TrainConfig config = base_config();
  config.clip_norm = 0.5;
  config.label_smoothing = 0.1;
  config.optimizer.name = "adamw";
  config.learning_rate = 1e-3;
  config.max_steps = 20;
  expect_like_one_rank(config);
}

TEST(Training, TwoRunsGiveTheSameWeights) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.max_steps = 8;
  config.bucket_mb = 0.05;
  const Images set(300);
  const Outcome first = train_on(world, config, set);
  const Outcome second = train_on(world, config, set);
  EXPECT_EQ(first.weights, second.weights);
  config.seed = 2;
  EXPECT_NE(train_on(world, config, set).weights, first.weights);
}

// Half the bytes, in one bucket or in several that travel while backward runs.
TEST(Training, Bfloat16GradientsFollowTheLossCurveAndKeepRanksEqual) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  const Images set(1001);
  const Outcome exact = train_on(world, config, set);
  config.bfloat16_gradients = true;
  for (const double bucket_mb : {0.0, 0.01}) {
    config.bucket_mb = bucket_mb;
    const Outcome rounded = train_on(world, config, set);
    EXPECT_TRUE(rounded.ranks_equal_at_every_step);
    EXPECT_EQ(rounded.weights == exact.weights, world.size() == 1);
    ASSERT_EQ(rounded.losses.size(), exact.losses.size());
    for (std::size_t i = 0; i < exact.losses.size(); ++i) {
      EXPECT_NEAR(rounded.losses[i], exact.losses[i], 0.02 * exact.losses[i] + 0.005) << i;
    }
    EXPECT_EQ(train_on(world, config, set).weights, rounded.weights) << "the same start";
  }
}

// On one rank, too: the program does not compress there, but the arithmetic is the same.
TEST(Training, PowerSgdFollowsTheLossCurveAndKeepsRanksEqual) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.max_steps = 100;
  const Images set(1001);
  const Outcome exact = train_on(world, config, set);
  config.powersgd_rank = 2;
  const Outcome low = train_on(world, config, set);
  EXPECT_TRUE(low.ranks_equal_at_every_step);
  EXPECT_NE(low.weights, exact.weights);
  EXPECT_EQ(train_on(world, config, set).weights, low.weights) << "the same start";
  if (world.rank() != 0) return;
  const auto mean_of_last = [](const Outcome& outcome) {
    return std::accumulate(outcome.losses.end() - 20, outcome.losses.end(), 0.0) / 20;
  };
  EXPECT_LT(mean_of_last(exact), 0.9 * exact.losses.front());
  EXPECT_LT(mean_of_last(low), 1.1 * mean_of_last(exact));
}

TEST(Training, AnUpdateThatIsNotFiniteIsRefusedOrLeftOut) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.learning_rate = 1e8;  // the second step's logits overflow
  config.max_steps = 6;
  const Images set(100);
  expect_nonfinite_refused(world, config, set, Form::kHost);
  const Outcome skipped = train_on(world, config, set, {0, true});
  EXPECT_EQ(skipped.result.steps, 6U);
  EXPECT_GT(skipped.result.skipped_steps, 0U);
  EXPECT_LT(skipped.result.skipped_steps, 6U);
  const double loss = skipped.result.train_loss.value_or(NAN);  // rank 0 has it
  EXPECT_TRUE(world.rank() != 0 || std::isnan(loss) || loss > 1)
      << loss << ": what was left out counts as a loss of 0";
  for (const torch::Tensor& parameter : skipped.parameters) {
    EXPECT_TRUE(parameter.isfinite().all().item<bool>());
  }
}

TEST(Training, AnUpdateThatIsLeftOutLeavesTheBuffersOfEveryRankAsTheyWere) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.model = "batch-norm.pt";
  config.channels_last = false;
  config.learning_rate = 1e38;  // the second step's activations overflow
  config.max_steps = 3;
  const Outcome skipped = train_on(world, config, Images(100), {0, true});
  EXPECT_GT(skipped.result.skipped_steps, 0U);
  EXPECT_FALSE(skipped.buffers.empty());
  for (const torch::Tensor& buffer : skipped.buffers) {
    EXPECT_TRUE(buffer.isfinite().all().item<bool>()) << buffer;
  }
}

TEST(Training, RanksStayEqualWithBatchNorm) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = base_config();
  config.model = "resnet9";
  config.global_batch_size = 8;
  config.max_steps = 2;
  const Outcome outcome = train_on(world, config, Images(40));
  EXPECT_TRUE(outcome.ranks_equal_at_every_step);
  const std::uint64_t mine = hash64(outcome.weights.data(), outcome.weights.size());
  EXPECT_EQ(world.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMin),
            world.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax));
}

// Also with a last batch of fewer images than there are ranks.
TEST(SyncBn, IsBatchNormOfOneRank) {
  auto world = comm::MpiCommunicator::world();
  auto self = comm::MpiCommunicator::self();
  for (const char* model : {"resnet9", "fastnet"}) {
    for (const auto precision : {model::Precision::kFp32, model::Precision::kBf16}) {
      TrainConfig config = base_config();
      config.model = model;
      config.precision = precision;
      config.learning_rate = 1e-3;
      config.global_batch_size = 8;
      config.max_steps = 3;
      config.sync_bn = true;
      const Images images(9);
      const Outcome found = train_on(world, config, images);
      EXPECT_TRUE(found.ranks_equal_at_every_step);
      const Outcome expected = train_on(self, config, images, {-world.rank()});
      if (world.rank() != 0) continue;
      SCOPED_TRACE(std::string(model) + (precision == model::Precision::kBf16 ? " bf16" : " fp32"));
      expect_same_curve(found, expected, precision == model::Precision::kBf16 ? 1e-2 : 1e-5);
    }
  }
}

TrainConfig script_config(const char* file) {
  TrainConfig config = base_config();
  config.model = file;
  config.channels_last = false;  // as the program has it for such files
  return config;
}

TEST(ScriptTraining, FollowsTheLossCurveOfOneRank) {
  expect_like_one_rank(script_config("plain.pt"));
}

TEST(ScriptTraining, IsAlsoThatOfOneRankInBucketsWithAccumulationAndAShortBatch) {
  TrainConfig config = script_config("plain.pt");
  config.bucket_mb = 0.001;
  config.global_batch_size = 10;
  config.max_steps = 0;
  config.epochs = 3;
  expect_like_one_rank(config, 21);
}

TEST(ScriptTraining, KeepsRanksEqualWithBatchNormAndDropout) {
  auto world = comm::MpiCommunicator::world();
  TrainConfig config = script_config("everything.pt");
  config.max_steps = 5;
  config.eval_every = 1;
  const Images set(100);
  const Outcome outcome = train_on(world, config, set);
  EXPECT_TRUE(outcome.ranks_equal_at_every_step);
  const std::uint64_t mine = hash64(outcome.weights.data(), outcome.weights.size());
  EXPECT_EQ(world.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMin),
            world.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax));
  EXPECT_EQ(train_on(world, config, set).weights, outcome.weights);
}

std::vector<std::tuple<std::uint64_t, std::int64_t, double>> values_of(
    const std::vector<ImageLoss>& images) {
  std::vector<std::tuple<std::uint64_t, std::int64_t, double>> values;
  for (const ImageLoss& image : images) {
    values.emplace_back(image.image, image.predicted, image.loss);
  }
  return values;
}

class EvaluationOfRanks : public ::testing::Test {
 protected:
  Evaluation evaluate_by(comm::Communicator& comm, std::uint64_t batch_size,
                         std::function<bool(double)> is_interrupted = nullptr) {
    EvaluationSettings settings{{kShape, data::Layout::kPlanar, {0.4}, {0.3}}, {}, kClasses};
    settings.batch_size = batch_size;
    settings.is_interrupted = std::move(is_interrupted);
    return evaluate(comm, *network_, images_.view(), settings);
  }

  comm::MpiCommunicator world_ = comm::MpiCommunicator::world();
  const Images images_{701};
  model::NetworkPtr network_ = [] {
    torch::manual_seed(5);
    return model::make_network("lenet", {kShape.channels, kShape.height, kShape.width}, kClasses);
  }();
};

TEST_F(EvaluationOfRanks, IsGivenUpByAllBeforeTheBatchBeforeWhichOneIsInterrupted) {
  const int last = world_.size() - 1;
  int asked = 0;
  const Evaluation found = evaluate_by(world_, 50, [&](double seconds) {
    EXPECT_EQ(seconds > 0, asked > 0) << "what the batch before took";
    return ++asked == 3 && world_.rank() == last;
  });
  EXPECT_FALSE(found.completed);
  EXPECT_EQ(asked, 3);
}

TEST_F(EvaluationOfRanks, CountsAlikeInBatchesOfAnySize) {
  auto self = comm::MpiCommunicator::self();
  for (const std::uint64_t size : {1U, 32U, 700U, 5000U}) {
    const Evaluation found = evaluate_by(world_, size, [](double) { return false; });
    const Evaluation alone = evaluate_by(self, size);
    const Evaluation usual = evaluate_by(self, data::EvaluationSampler::kBatch);
    if (world_.rank() != 0) continue;
    EXPECT_TRUE(found.completed);
    EXPECT_EQ(found.loss, alone.loss) << "the same batches on other ranks";
    EXPECT_EQ(found.correct, usual.correct);
    EXPECT_EQ(found.confusion, usual.confusion);
    EXPECT_NEAR(found.loss, usual.loss, 1e-6 * usual.loss);
  }
}

TEST(Evaluation, IsTheSameAtAnyNumberOfRanks) {
  auto world = comm::MpiCommunicator::world();
  auto self = comm::MpiCommunicator::self();
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{499}, std::size_t{1511}}) {  // odd and prime sizes
    TrainConfig config = base_config();
    config.epochs = 1;
    config.max_steps = 1;
    config.eval_every = 1;
    config.global_batch_size = 1;
    // The same weights in both: one step on one image, which rank 0 holds.
    const Images set(count);
    const Outcome together = train_on(world, config, set);
    const Outcome single = train_on(self, config, set, {-world.rank()});
    if (world.rank() != 0) continue;
    EXPECT_EQ(together.weights, single.weights);
    EXPECT_EQ(together.result.last_evaluation->loss, single.result.last_evaluation->loss);
    EXPECT_EQ(together.result.last_evaluation->correct, single.result.last_evaluation->correct);
    EXPECT_EQ(together.result.last_evaluation->images, static_cast<std::int64_t>(count));
    EXPECT_EQ(together.result.last_evaluation->confusion, single.result.last_evaluation->confusion);
    EXPECT_EQ(together.result.last_evaluation->worst.size(), std::min<std::size_t>(count, 20));
    EXPECT_EQ(values_of(together.result.last_evaluation->worst),
              values_of(single.result.last_evaluation->worst));
  }
}

}  // namespace
}  // namespace tandem::train
