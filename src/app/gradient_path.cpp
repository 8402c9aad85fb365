#include "gradient_path.hpp"

#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {

GradientPath::GradientPath(Job& job, comm::Collectives* device, train::ParameterArena& arena,
                           const train::TrainConfig& config)
    : algorithm_(config.sum_algorithm), device_(device) {
  // Of two levels only what passes between hosts is rounded.
  const bool is_one_sum = algorithm_ == comm::SumAlgorithm::kTwoLevel
                              ? job.node.size() == job.world.size()
                              : job.world.size() == 1;
  as_bfloat16_ = config.bfloat16_gradients && !is_one_sum;
  const bool on_cpu = device == nullptr && arena.device().is_cpu();
  comm::agree(job.world, job.topology.host, [&] {
    if (on_cpu || algorithm_ == comm::SumAlgorithm::kFlat) return;
    throw UsageError(
        "--sum-algorithm two-level: is for ranks on CPUs; NCCL knows of hosts by itself");
  });
  if (on_cpu) {
    host_sums_.emplace(job, arena.gradients(), algorithm_, as_bfloat16_);
    if (const auto& shared = host_sums_->shared_memory()) {
      arena.move_gradients({shared, shared->mine().data()});
    }
  } else if (device == nullptr) {
    host_sums_.emplace(job, Span<float>(), algorithm_, false);  // one rank on a GPU
  } else if (as_bfloat16_) {
    comm::agree(job.world, job.topology.host, [&] {
      if (device->has_async_progress()) return;
      throw UsageError(
          "--grad-dtype bf16: gradients of GPUs that travel by MPI are summed in fp32; leave it "
          "out, or give --backend nccl");
    });
    device_sums_.emplace(*device, arena.flat_gradients());
  }
}

comm::Collectives& GradientPath::collectives() {
  if (device_sums_) return *device_sums_;
  return host_sums_ ? host_sums_->collectives() : *device_;
}

void GradientPath::reset_error_feedback() {
  if (host_sums_) host_sums_->reset_error_feedback();
  if (device_sums_) device_sums_->reset_error_feedback();
}

std::string GradientPath::describe() const {
  std::string text;
  if (algorithm_ == comm::SumAlgorithm::kTwoLevel) {
    text += ", summed within each host and then between hosts";
  }
  if (as_bfloat16_) {
    text +=
        ", sent as bfloat16: what rounding takes away is kept for the next step but in no "
        "checkpoint, so a run that goes on has the same curve, not the same bits";
  }
  return text;
}

}  // namespace tandem::app
