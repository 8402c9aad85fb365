#include "gradient_transport.hpp"

#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/device_bf16_all_reduce.hpp"

namespace tandem::app {

void require_gpu_transport(comm::AllReduceAlgorithm algorithm, bool as_bf16,
                           const comm::Collectives* between_gpus) {
  if (algorithm != comm::AllReduceAlgorithm::kFlat) {
    throw UsageError("--all-reduce " + comm::all_reduce_algorithm_name(algorithm) +
                     ": is for ranks on CPUs; leave it out with GPUs, or give --device cpu");
  }
  if (as_bf16 && between_gpus != nullptr && !between_gpus->has_async_progress()) {
    throw UsageError(
        "--grad-dtype bf16: gradients of GPUs that travel by MPI are summed in fp32; leave it out, "
        "or give --backend nccl");
  }
}

GradientTransport::GradientTransport(Job& job, comm::Collectives* device,
                                     train::ParameterArena& arena, const train::TrainConfig& config)
    : algorithm_(config.all_reduce), device_(device) {
  // In the hierarchical form only messages between hosts are rounded.
  const bool is_one_sum = algorithm_ == comm::AllReduceAlgorithm::kTwoLevel
                              ? job.node.size() == job.world.size()
                              : job.world.size() == 1;
  as_bf16_ = config.bfloat16_gradients && !is_one_sum;
  const bool on_cpu = device == nullptr && arena.device().is_cpu();
  comm::agree(job.world, [&] {
    if (on_cpu) return;
    if (config.powersgd_rank > 0) {
      throw UsageError(
          "--grad-dtype powersgd: compresses the gradients of ranks on CPUs; leave it out with "
          "GPUs, or give --device cpu");
    }
    require_gpu_transport(algorithm_, as_bf16_, device);
  });
  if (device == nullptr) {
    // A single rank needs no `device`. If it computes on a GPU, its gradients stay there.
    comm::AllReduce made = comm::make_all_reduce(
        job.world, job.node, on_cpu ? arena.gradients() : Span<float>(), {algorithm_, as_bf16_});
    all_reduce_ = std::move(made.collectives);
    if (made.shared_gradients) arena.move_gradients(made.shared_gradients);
  } else if (as_bf16_) {
    all_reduce_ = std::make_unique<train::DeviceBf16AllReduce>(*device, arena.flat_gradients());
  }
  if (config.powersgd_rank > 0 && job.world.size() > 1) {
    power_sgd_ = std::make_unique<train::PowerSgdAllReduce>(*all_reduce_, arena,
                                                            config.powersgd_rank, config.seed);
  }
}

std::string GradientTransport::describe() const {
  std::string text;
  if (algorithm_ == comm::AllReduceAlgorithm::kTwoLevel) {
    text += ", summed within each host and then between hosts";
  }
  if (algorithm_ == comm::AllReduceAlgorithm::kLibrary) {
    text +=
        ", summed by the MPI library in its own order: a resumed run has the same curve, not "
        "the same bits";
  }
  if (as_bf16_) {
    text += ", sent as bfloat16: a resumed run has the same curve, not the same bits";
  }
  if (power_sgd_) {
    text +=
        ", compressed by PowerSGD: " + format_bytes(power_sgd_->floats_per_step() * sizeof(float)) +
        " in each step";
  }
  return text;
}

}  // namespace tandem::app
