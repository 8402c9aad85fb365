// A training loop of one's own with tandem's library, for a network that tandem does not know:
//
//   mpirun -np 2 own-loop DATA.h5 WEIGHTS.safetensors
//
// As in `tandem train`, the ranks of a host share the images, each global batch is dealt to all
// ranks, gradients are summed over them, and weights stay equal bit for bit.
#include <memory>
#include <string>
#include <tandem/comm/agree.hpp>
#include <tandem/comm/runtime.hpp>
#include <tandem/core/print.hpp>
#include <tandem/model/safetensors.hpp>
#include <tandem/train/drift_check.hpp>
#include <tandem/train/evaluator.hpp>
#include <tandem/train/image_store.hpp>
#include <tandem/train/optimizer.hpp>
#include <tandem/train/reducer.hpp>
#include <tandem/train/replicate.hpp>
#include <tandem/train/step_runner.hpp>

using namespace tandem;

namespace {

constexpr double kPeakRate = 0.05;
constexpr int kEpochs = 15;

// Two convolutions, and of each of the last one's 32 channels what it found best, wherever.
class Detectors final : public model::Network {
 public:
  explicit Detectors(const data::DatasetInfo& info) {
    using torch::nn::Conv2d, torch::nn::Conv2dOptions;
    const auto channels = static_cast<std::int64_t>(info.shape.channels);
    edges_ = register_module("edges", Conv2d(Conv2dOptions(channels, 16, 5).stride(2)));
    parts_ = register_module("parts", Conv2d(Conv2dOptions(16, 32, 5).stride(2)));
    output_ = register_module("output", torch::nn::Linear(32, info.classes.size()));
  }
  torch::Tensor forward(torch::Tensor images) override {
    const torch::Tensor edges = torch::relu(edges_->forward(images));
    return output_->forward(torch::relu(parts_->forward(edges)).amax({2, 3}));
  }

 private:
  torch::nn::Conv2d edges_{nullptr}, parts_{nullptr};
  torch::nn::Linear output_{nullptr};
};

void run(comm::MpiCommunicator& world, const std::string& path, const std::string& output) {
  comm::MpiCommunicator node = world.node();
  const train::ImageStore images(path, world, node);
  const data::DatasetInfo& info = images.info();
  const data::Transform transform(info.shape, data::Layout::kChannelsLast, info.mean, info.std);

  data::TrainingPlan plan;
  plan.image_count = static_cast<std::uint32_t>(info.train_count);
  plan.global_batch = 64;
  plan.steps = kEpochs * plan.steps_per_epoch();
  train::LoadedBatches batches(
      images.view(data::Split::kTrain), transform, {data::AugmentSpec::parse("flip"), plan.seed},
      std::make_unique<data::TrainingSampler>(plan, world.rank(), world.size()));

  Detectors network(info);
  train::ParameterArena arena(network, true);
  train::broadcast_weights(world, arena, network);
  train::Reducer gradients(arena, world, 0);
  const auto optimizer = train::make_optimizer({}, arena.values().size());
  const auto backend = train::make_step_backend(arena, *optimizer, 0);
  train::StepRunner runner({network, arena, gradients, *backend, batches}, {});

  for (std::uint64_t step = 0; step < plan.steps; ++step) {
    const double done = static_cast<double>(step) / static_cast<double>(plan.steps);
    runner.run(step, kPeakRate * (1 - done));
    const train::StepOutcome outcome = backend->drain();  // of this rank's images
    if (outcome.skipped > 0) throw InternalError("the gradient is not finite");
    if ((step + 1) % plan.steps_per_epoch() == 0) {
      const double loss = world.all_reduce_value(outcome.last.loss) /
                          static_cast<double>(plan.images_in_step(step));
      if (world.rank() == 0)
        print_line("step " + std::to_string(step + 1) + "  loss " + std::to_string(loss));
    }
  }

  const train::Evaluation result =
      train::evaluate(world, network, images.view(data::Split::kTest),
                      {transform, model::Precision::kFp32, info.classes.size()});
  train::require_equal_state(world, arena, *optimizer);
  comm::agree_on_rank_0(world, [&] {
    model::write_safetensors(output, model::state_dict(network));
    print_line("test accuracy " + std::to_string(result.accuracy) + " on " +
               std::to_string(world.size()) + " equal ranks; " + output);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    print_error("usage: mpirun -np 2 own-loop DATA.h5 WEIGHTS.safetensors");
    return static_cast<int>(ExitCode::kUsage);
  }
  const comm::Runtime runtime;
  try {
    auto world = comm::MpiCommunicator::world();
    run(world, argv[1], argv[2]);
    return 0;
  } catch (const comm::AgreedError& error) {  // on every rank: one speaks
    if (runtime.rank() == 0) print_error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {  // on this rank alone: the others wait for it
    print_error(message_of(error));
    comm::Runtime::abort(static_cast<int>(ExitCode::kInternal));
  }
}
