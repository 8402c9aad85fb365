// What the steps of a run compute with: network, gradients, all-reduce, optimizer and batches,
// built in one order on all ranks. Job, request, inputs and device must outlive it. Main thread.
// Throws AgreedError on every rank, and what libtorch and the communicators throw.
#pragma once

#include <memory>
#include <string>

#include "engine/compute.hpp"
#include "engine/compute_setup.hpp"
#include "engine/gradient_transport.hpp"
#include "plan.hpp"
#include "run_inputs.hpp"
#include "run_network.hpp"
#include "tandem/comm/watchdog.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/train/gradient_exchange.hpp"
#include "tandem/train/schedule.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::app {

class TrainingSession {
 public:
  // Collective. The network has the weights of rank 0, or the state of the checkpoint that `start`
  // resumes from. Where --bucket-mb is auto or not given, `run` has its number afterwards.
  TrainingSession(Job& job, RunRequest& run, const RunStart& start, const RunInputs& inputs,
                  const RunDevice& device);

  // How gradients are exchanged, for people.
  std::string describe_exchange() const;

  // Parameters that are not trained.
  std::size_t frozen_parameters() const;

  // The objects that a step uses.
  train::StepContext step() {
    return {*network,        arena,   *exchange,           *backend,
            *batches,        nullptr, class_weights.get(), norms.get(),
            positive_weights};
  }

  // Collective. On GPUs, before the clock of the steps starts: train/warm_up.hpp.
  void warm_up(Job& job, const train::TrainConfig& config, const RunInputs& inputs,
               const Touch& touch);

  // Collective. Prints what --plan asks for, on rank 0.
  void print_forecast(Job& job, const RunRequest& run, const RunInputs& inputs, const Touch& touch);

  const InitialNetwork initial;
  const model::NetworkPtr network;
  train::ParameterArena arena;
  const std::unique_ptr<comm::Collectives> device_collectives;              // null without GPUs
  const std::unique_ptr<comm::Watchdog::ConnectionCheck> connection_check;  // may be null
  GradientTransport transport;
  const ComputeSetup setup;
  const train::Schedule schedule;
  const data::Transform transform;
  const data::TrainingPlan plan;
  const train::StepSettings step_settings;
  std::unique_ptr<train::GradientExchange> exchange;
  std::unique_ptr<train::Optimizer> optimizer;
  std::unique_ptr<train::BatchSource> batches;
  std::unique_ptr<train::StepBackend> backend;
  std::unique_ptr<train::ClassWeights> class_weights;  // null: classes count alike
  std::shared_ptr<const model::BatchExchange> norms;   // null: each rank normalizes by itself
  torch::Tensor positive_weights;  // of classes in a multi-label set; undefined: all are 1

 private:
  StateMemory state_memory() const;
  void choose_bucket_size(Job& job, RunRequest& run, const RunStart& start,
                          const RunInputs& inputs);
};

}  // namespace tandem::app
