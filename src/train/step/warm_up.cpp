#include "tandem/train/warm_up.hpp"

#include <ATen/Context.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "step_errors.hpp"
#include "tandem/train/kept_buffers.hpp"

namespace tandem::train {
namespace {

// The default generators, from which networks draw.
class KeptRandom {
 public:
  explicit KeptRandom(torch::Device device) : generators_{generator_of(torch::kCPU)} {
    if (!device.is_cpu()) generators_.push_back(generator_of(device));
    for (at::Generator& each : generators_) {
      const std::lock_guard<std::mutex> lock(each.mutex());
      states_.push_back(each.get_state());
    }
  }

  void restore() {
    for (std::size_t i = 0; i < generators_.size(); ++i) {
      const std::lock_guard<std::mutex> lock(generators_[i].mutex());
      generators_[i].set_state(states_[i]);
    }
  }

 private:
  static at::Generator generator_of(torch::Device device) {
    return at::globalContext().defaultGenerator(device);
  }

  std::vector<at::Generator> generators_;
  std::vector<torch::Tensor> states_;
};

class KeptState {
 public:
  KeptState(const StepContext& context, Optimizer& optimizer)
      : context_(context),
        optimizer_(optimizer),
        random_(context.arena.device()),
        buffers_(context.network),
        steps_(optimizer.steps()) {
    arrays_.push_back(context.arena.flat_values());
    for (const StateArray& each : optimizer.state()) arrays_.push_back(each.values);
    for (const StateArray& each : optimizer.unlike_parameters()) arrays_.push_back(each.values);
    for (const torch::Tensor& each : arrays_) copies_.push_back(each.clone());
    buffers_.keep();
  }

  void restore() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) arrays_[i].copy_(copies_[i]);
    optimizer_.set_steps(steps_);
    buffers_.restore();
    context_.arena.zero_gradients();
    random_.restore();
  }

 private:
  const StepContext& context_;
  Optimizer& optimizer_;
  KeptRandom random_;
  KeptBuffers buffers_;
  const std::uint64_t steps_;
  std::vector<torch::Tensor> arrays_;  // weights first
  std::vector<torch::Tensor> copies_;
};

}  // namespace

std::vector<std::uint64_t> steps_of_each_size(const data::TrainingPlan& plan) {
  if (plan.first_step >= plan.steps) return {};
  std::vector<std::uint64_t> steps{plan.first_step};
  const std::uint64_t end = std::min(plan.steps, plan.first_step + plan.steps_per_epoch());
  for (std::uint64_t step = plan.first_step + 1; step < end; ++step) {
    if (plan.images_in_step(step) == plan.images_in_step(plan.first_step)) continue;
    steps.push_back(step);
    break;
  }
  return steps;
}

WarmUpSampler::WarmUpSampler(data::TrainingPlan plan, std::uint64_t step, int rank, int world,
                             std::uint64_t times) {
  plan.first_step = step;
  const std::uint64_t requests = plan.micro_batches_of_rank(world);
  data::TrainingSampler sampler(plan, rank, world);
  for (std::uint64_t i = 0; i < requests; ++i) {
    of_step_.push_back(*sampler.next());
    std::iota(of_step_.back().images.begin(), of_step_.back().images.end(), 0);
    for (data::MixRun& run : of_step_.back().mix_runs) run.group = run.before = 0;
  }
  left_ = times * requests;
}

std::optional<data::BatchRequest> WarmUpSampler::next() {
  if (left_ == 0) return std::nullopt;
  const std::size_t of_step = of_step_.size();
  return of_step_[of_step - 1 - --left_ % of_step];
}

std::size_t WarmUpSampler::image_count() const {
  std::size_t most = 1;
  for (const data::BatchRequest& each : of_step_) most = std::max(most, each.images.size());
  return most;
}

void warm_up(const StepContext& context, const StepSettings& settings, Optimizer& optimizer,
             std::uint64_t steps, const Touch& touch) {
  const bool was_training = context.network.is_training();
  context.network.train();
  KeptState state(context, optimizer);
  StepRunner runner(context, settings);
  for (std::uint64_t step = 0; step < steps; ++step) {
    within_step(step, [&] { runner.run(step, 0); });
    call(touch);
  }
  context.backend.drain();  // waits for a GPU
  const torch::NoGradGuard no_grad;
  state.restore();
  context.network.train(was_training);
}

}  // namespace tandem::train
