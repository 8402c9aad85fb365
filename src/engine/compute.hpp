// Makes the parts of training and evaluation that depend on the device. Main thread. Throws
// AgreedError (69) if a GPU, libtorch's CUDA library or NCCL cannot be used, (2) for an option that
// requires a GPU, or a CPU.
#pragma once

#include <memory>
#include <string>

#include "cli/device_options.hpp"
#include "session/device_choice.hpp"
#include "session/job.hpp"
#include "tandem/comm/collectives.hpp"
#include "tandem/model/precision.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"
#include "tandem/train/step_backend.hpp"

namespace tandem::app {

struct DeviceArithmetic {
  model::Precision precision = model::Precision::kFp32;
  bool is_deterministic = false;  // the same bits in each run
};

// Collective. The CPU, or this rank's GPU, ready to compute. Where a rank's GPU cannot be used
// although the driver shows it, and the request allows that, all take the CPU, which `choice` then
// says, too.
torch::Device open_device(Job& job, const device::DeviceRequest& request, DeviceChoice& choice,
                          DeviceArithmetic arithmetic);

// Collective. Sets the threads of this rank and returns their number.
int use_threads_of(Job& job, const train::TrainConfig& config);

// UsageError for `option`, which is for ranks on CPUs, on another device.
void require_cpu(torch::Device device, const std::string& option);

// Collective. The collectives between GPUs; null if ranks compute on CPUs, where MPI reads
// gradients directly, and for one rank, unless it requests NCCL. The job must outlive them.
std::unique_ptr<comm::Collectives> make_device_collectives(Job& job, const DeviceOptions& options,
                                                           const DeviceChoice& choice,
                                                           torch::Device device);

// The memory that was free on this rank's GPU when it was opened, or its share of that; 0: no GPU.
std::uint64_t memory_of_gpu(const DeviceChoice& choice, const device::DeviceRequest& request,
                            const comm::Topology& topology);

// Has a GPU of `gpu_bytes` normalize the images of evaluations; those that take more than a
// sixteenth of it are streamed. Does nothing for a CPU.
void evaluate_on_gpu(train::EvaluationSettings& settings, const train::PixelMoments& moments,
                     std::uint64_t gpu_bytes);

// Normalizes the images of a set for training on it.
data::Transform transform_of(const train::TrainConfig& config, const data::DatasetInfo& info);

struct BatchDevice {
  torch::Device device;
  std::uint64_t gpu_bytes = 0;
  Touch touch = {};  // called while a data set is copied to the GPU
};

// A data set that takes more than a quarter of `gpu_bytes` is streamed. For augmentations besides
// crop and flip, and for multi-label sets, the loader on the host makes the images, and its batches
// are sent to the GPU.
std::unique_ptr<train::BatchSource> make_batches(const data::ImagesView& view,
                                                 const data::DatasetInfo& info,
                                                 const train::TrainConfig& config,
                                                 std::unique_ptr<data::Sampler> sampler,
                                                 const BatchDevice& to);

// `earlier`: a checkpoint's, which counts if it is set.
train::LossScale loss_scale_of(const train::TrainConfig& config,
                               const train::BatchArithmetic& arithmetic, train::LossScale earlier);

std::unique_ptr<train::StepBackend> make_step_backend_on(train::ParameterArena& arena,
                                                         train::Optimizer& optimizer,
                                                         const train::TrainConfig& config,
                                                         train::LossScale scale);

}  // namespace tandem::app
