// A whole training run without files or options, on any communicator, for tests that compare such
// runs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/script_modules.hpp"
#include "support/wants_gpu.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/comm/host_arrays.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/model/cuda.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/class_weights.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/layerwise_optimizers.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/power_sgd.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/replicate.hpp"
#include "tandem/train/shard_reducer.hpp"
#include "tandem/train/shared_optimizer.hpp"
#include "tandem/train/staged_collectives.hpp"
#include "tandem/train/step_timing.hpp"
#include "tandem/train/trainer.hpp"
#include "tandem/train/warm_up.hpp"
#include "tandem/train/weight_average.hpp"

namespace tandem::train {

constexpr data::ImageShape kShape{1, 28, 28};
constexpr std::size_t kClasses = 10;

// Blobs whose place tells the class.
struct Images {
  std::vector<std::uint8_t> pixels;
  std::vector<data::Label> labels;

  explicit Images(std::size_t count) : pixels(count * kShape.pixels()), labels(count) {
    for (std::size_t i = 0; i < count; ++i) {
      CounterRandom random{17, i};
      labels[i] = static_cast<data::Label>(random.below(kClasses));
      for (std::size_t p = 0; p < kShape.pixels(); ++p) {
        const bool lit = p / 78 == labels[i];
        pixels[i * kShape.pixels() + p] = static_cast<std::uint8_t>(random.below(100) + 100 * lit);
      }
    }
  }
  data::ImagesView view() const {
    return {kShape, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

struct Outcome {
  std::vector<double> losses;  // by step, on rank 0
  std::string weights;         // SHA-256
  std::uint64_t state = 0;     // a hash of the optimizer's
  std::vector<torch::Tensor> parameters;
  std::vector<torch::Tensor> buffers;  // this rank's own, before rank 0's came
  TrainResult result;
  bool ranks_equal_at_every_step = true;
};

// Keeps the losses; on every rank, to compare weights at every logged step, a probe runs in the
// optimizer.
class LossSink final : public metrics::Sink {
 public:
  explicit LossSink(std::vector<double>& losses) : losses_(losses) {}
  void on_step(const metrics::StepRecord& record) override { losses_.push_back(record.loss); }
  void on_epoch(const metrics::EpochRecord&) override {}
  void on_evaluation(const metrics::EvaluationRecord&) override {}
  void on_note(const metrics::NoteRecord&) override {}

 private:
  std::vector<double>& losses_;
};

class ProbingOptimizer final : public Optimizer {
 public:
  ProbingOptimizer(std::unique_ptr<Optimizer> inner, comm::Communicator& comm, bool& equal)
      : inner_(std::move(inner)), comm_(comm), equal_(equal) {}
  std::vector<StateArray> state() override { return inner_->state(); }
  std::vector<StateArray> unlike_parameters() override { return inner_->unlike_parameters(); }
  void swap_average() override { inner_->swap_average(); }
  std::uint64_t steps() const override { return inner_->steps(); }
  void set_steps(std::uint64_t steps) override { inner_->set_steps(steps); }
  void step(const torch::Tensor& values, const torch::Tensor& gradients, double rate,
            const torch::Tensor& skipped) override {
    inner_->step(values, gradients, rate, skipped);
    const torch::Tensor host = on_host(values);
    const std::uint64_t mine = hash64(host.data_ptr<float>(), host.nbytes());
    const auto lowest = comm_.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMin);
    const auto highest = comm_.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax);
    equal_ = equal_ && lowest == highest;
  }

 private:
  std::unique_ptr<Optimizer> inner_;
  comm::Communicator& comm_;
  bool& equal_;
};

// The parts for CPUs, or those for GPUs, which run on the CPU unless testing::wants_gpu().
enum class Form { kHost, kDevice };

inline torch::Device place_of(Form form, int rank) {
  if (!testing::wants_gpu()) return torch::kCPU;
  // Also for the host's form: autograd knows only the devices of its first backward pass.
  const torch::Device gpu = model::open_cuda(rank, {true, false});
  return form == Form::kDevice ? gpu : torch::Device(torch::kCPU);
}

// "plain.pt", "batch-norm.pt", "reads-buffer.pt" and "everything.pt", which also drops, stand for
// TorchScript files, which are loaded to `place`. The arena moves other networks.
inline model::NetworkPtr network_of(const TrainConfig& config, torch::Device place) {
  const model::InputShape shape{kShape.channels, kShape.height, kShape.width};
  if (!model::is_script_file(config.model)) {
    return model::make_network(config.model, shape, kClasses);
  }
  const bool everything = config.model == "everything.pt";
  const model::ScriptNetOptions options{everything || config.model == "batch-norm.pt",
                                        everything ? 0.5 : 0, config.model == "reads-buffer.pt"};
  return model::make_script_network(config.model,
                                    model::bytes_of(model::script_net(shape, kClasses, options)),
                                    shape, kClasses, place);
}

inline std::unique_ptr<Optimizer> plain_optimizer_of(const TrainConfig& config, Form form,
                                                     ParameterArena& arena,
                                                     const model::Network& network) {
  if (arena.host_arrays() != nullptr) {
    return make_shared_optimizer(config.optimizer, arena, config.learning_rate,
                                 network.early_parameters());
  }
  const auto size = static_cast<std::size_t>(arena.flat_values().numel());
  if (config.optimizer.name == "muon") {
    const auto make = form == Form::kDevice ? make_device_muon : make_muon;
    return make(config.optimizer, arena, config.learning_rate, network.early_parameters());
  }
  if (is_layerwise(config.optimizer)) {
    const auto make =
        form == Form::kDevice ? make_device_layerwise_optimizer : make_layerwise_optimizer;
    return make(config.optimizer, arena);
  }
  return form == Form::kDevice ? make_device_optimizer(config.optimizer, size, arena.device())
                               : make_optimizer(config.optimizer, size);
}

// The optimizer that the form has for a configuration.
inline std::unique_ptr<Optimizer> optimizer_of(const TrainConfig& config, Form form,
                                               ParameterArena& arena,
                                               const model::Network& network) {
  auto optimizer = plain_optimizer_of(config, form, arena, network);
  if (config.ema == 0) return optimizer;
  return std::make_unique<WeightAverage>(std::move(optimizer), arena, network, config.ema);
}

// Besides the configuration.
struct Manner {
  int seed_offset = 0;
  bool skip_nonfinite = false;
  Form form = Form::kHost;
  bool streams = false;                   // the images to the device
  bool warms_up = false;                  // before the first step
  comm::MpiCommunicator* host = nullptr;  // the ranks that share one copy of the weights
};

inline void share_weights(comm::Communicator& world, comm::MpiCommunicator* host,
                          const OptimizerOptions& optimizer, ParameterArena& arena) {
  if (host == nullptr) return;
  auto arrays = comm::HostArrays::make(dynamic_cast<comm::MpiCommunicator&>(world), *host,
                                       1 + state_array_count(optimizer), arena.values().size());
  ASSERT_NE(arrays, nullptr);
  arena.share_values(std::move(arrays));
}

// Steps that are to change nothing, on noise.
inline void warm_up_on_noise(const StepContext& context, const StepSettings& settings,
                             Optimizer& optimizer, const TrainConfig& config, Form form) {
  SyntheticBatch noise(5, 5, kShape, config.channels_last, context.arena.device());
  const auto backend =
      form == Form::kDevice
          ? make_device_step_backend(context.arena, optimizer, config.clip_norm, config.precision)
          : make_step_backend(context.arena, optimizer, config.clip_norm);
  warm_up({context.network, context.arena, context.exchange, *backend, noise}, settings, optimizer,
          3);
}

inline Outcome train_on(comm::Communicator& comm, const TrainConfig& config, const Images& images,
                        const Manner& manner = {}) {
  const Form form = manner.form;
  const torch::Device place = place_of(form, comm.rank());
  const auto count = images.labels.size();
  const auto arithmetic = BatchArithmetic::of(config, count, comm.size());
  // Unlike initial weights: only the broadcast makes the ranks equal.
  torch::manual_seed(config.seed + static_cast<std::uint64_t>(comm.rank() + manner.seed_offset));
  const auto network = network_of(config, place);
  ParameterArena arena(*network, config.channels_last, place);
  share_weights(comm, manner.host, config.optimizer, arena);
  broadcast_weights(comm, arena, *network);
  const bool on_device = form == Form::kDevice;
  StagedCollectives staged(comm, place);
  comm::AllReduce bfloat16;
  if (config.bfloat16_gradients) {
    auto& mpi = dynamic_cast<comm::MpiCommunicator&>(comm);
    bfloat16 = comm::make_all_reduce(mpi, mpi, arena.gradients(),
                                     {config.all_reduce, config.bfloat16_gradients});
  }
  std::optional<PowerSgdAllReduce> power_sgd;
  if (config.powersgd_rank > 0) power_sgd.emplace(comm, arena, config.powersgd_rank, config.seed);
  std::unique_ptr<GradientExchange> exchange;
  if (config.virtual_ranks > 0) {
    exchange =
        std::make_unique<ShardReducer>(arena, *network, comm, model::is_script_file(config.model));
  } else {
    const auto bucket_bytes = static_cast<std::size_t>(config.bucket_mb * (1 << 20));
    comm::Collectives& carrier = power_sgd ? static_cast<comm::Collectives&>(*power_sgd)
                                 : bfloat16.collectives ? *bfloat16.collectives
                                 : on_device            ? static_cast<comm::Collectives&>(staged)
                                                        : comm;
    exchange = std::make_unique<Reducer>(arena, carrier, bucket_bytes);
  }
  Outcome outcome;
  ProbingOptimizer optimizer(optimizer_of(config, form, arena, *network), comm,
                             outcome.ranks_equal_at_every_step);
  const Schedule schedule(config.schedule, arithmetic.learning_rate, arithmetic.steps_per_epoch,
                          arithmetic.total_steps);
  const auto layout = config.channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  const data::Transform transform(kShape, layout, {0.4}, {0.3});
  const auto plan = training_plan(config, arithmetic, count);
  auto sampler = std::make_unique<data::TrainingSampler>(plan, comm.rank(), comm.size());
  const data::AugmentKey augment{config.augment, config.seed};
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<StepBackend> backend;
  if (on_device) {
    const PixelMoments moments{{0.4}, {0.3}};
    if (manner.streams) {
      batches = std::make_unique<StreamedBatches>(images.view(), layout, moments, augment,
                                                  std::move(sampler), place);
    } else {
      batches = std::make_unique<ResidentBatches>(images.view(), layout, moments, augment,
                                                  std::move(sampler), place);
    }
    // Of fp16: one that fits at once, so that no step is skipped.
    backend =
        make_device_step_backend(arena, optimizer, config.clip_norm, config.precision, {1024, 0});
  } else {
    batches =
        std::make_unique<LoadedBatches>(images.view(), transform, augment, std::move(sampler));
    backend = make_step_backend(arena, optimizer, config.clip_norm);
  }
  metrics::Sinks sinks;
  if (comm.rank() == 0) sinks.push_back(std::make_unique<LossSink>(outcome.losses));
  TrainerSettings settings;
  settings.plan = plan;
  settings.step = StepSettings::of(config, plan, comm.rank(), comm.size());
  settings.eval_every = config.eval_every;
  settings.log_every = 1;
  settings.step.skip_nonfinite = manner.skip_nonfinite;
  EvaluationSettings evaluation{transform, config.precision, kClasses, place, nullptr, 20};
  if (on_device) evaluation.moments = {{0.4}, {0.3}};
  evaluation.resident_bytes = manner.streams ? 0 : std::uint64_t{1} << 30;
  Evaluator evaluator(comm, *network, images.view(), {}, evaluation);
  std::unique_ptr<ClassWeights> weights;
  if (config.weighs_classes()) {
    weights = std::make_unique<ClassWeights>(weights_of_classes(config, images.view(), kClasses),
                                             images.view(), plan, place);
  }
  std::shared_ptr<const model::BatchExchange> norms;
  if (config.sync_bn) norms = synchronize_norms(comm, *network);
  const StepContext step{*network, arena,   *exchange,     *backend,
                         *batches, nullptr, weights.get(), norms.get()};
  if (manner.warms_up) warm_up_on_noise(step, settings.step, optimizer, config, form);
  Trainer trainer({comm, step, schedule, evaluator, sinks}, settings);
  outcome.result = trainer.run();
  for (const torch::Tensor& buffer : network->buffers()) {
    if (buffer.is_floating_point()) outcome.buffers.push_back(buffer.clone());
  }
  optimizer.swap_average();
  broadcast_buffers(comm, *network);
  outcome.parameters = network->parameters();
  outcome.weights = model::weights_sha256(*network);
  for (const StateArray& each : optimizer.state()) {
    const torch::Tensor host = on_host(each.values);
    outcome.state = hash64(host.data_ptr<float>(), host.nbytes(), outcome.state);
  }
  return outcome;
}

inline void expect_same_curve(const Outcome& found, const Outcome& expected,
                              double tolerance = 1e-4) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < found.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], tolerance * expected.losses[i])
        << "step " << i + 1;
  }
}

// With a configuration whose updates soon are not finite.
inline void expect_nonfinite_refused(comm::Communicator& comm, const TrainConfig& config,
                                     const Images& images, Form form) {
  try {
    train_on(comm, config, images, {0, false, form});
    FAIL() << "trained on with infinities";
  } catch (const comm::AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::kTrainingFailed);
    EXPECT_NE(std::string(error.what()).find("is not finite at learning rate"), std::string::npos)
        << error.what();
  }
}

inline TrainConfig base_config() {
  TrainConfig config;
  config.model = "lenet";
  config.global_batch_size = 24;
  config.max_steps = 50;
  config.epochs = 100;
  config.eval_every = 0;
  config.learning_rate = 0.02;
  config.augment = data::AugmentSpec::parse("standard");
  return config;
}

}  // namespace tandem::train
