#include "tandem/train/step_backend.hpp"

#include <cmath>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

class HostStepBackend final : public StepBackend {
 public:
  HostStepBackend(ParameterArena& arena, Optimizer& optimizer, double clip_norm)
      : arena_(arena), optimizer_(optimizer), clip_norm_(clip_norm) {}

  bool drains_without_sync() const override { return true; }

  torch::Tensor grad_output(std::uint64_t global_count) override {
    return torch::full({}, 1.0 / static_cast<double>(global_count));
  }

  void count(const TensorBatch& batch, const torch::Tensor& loss,
             const torch::Tensor& logits) override {
    if (!batch.is_multi_label()) {
      const std::vector<std::int64_t> predicted = predicted_classes(logits);
      const auto* labels = batch.labels.data_ptr<std::int64_t>();
      for (std::size_t i = 0; i < batch.size(); ++i) step_.correct += predicted[i] == labels[i];
    }
    step_.loss += loss.item<float>();
    step_.images += static_cast<std::int64_t>(batch.size());
    step_.id_hash += id_hash_of(batch.request);
  }

  void update(std::uint64_t step, double learning_rate, KeptBuffers* buffers) override {
    step_.counted_images = step_.images;
    outcome_.gradient_norm.reset();
    // Squares of floats cannot overflow in double, so it is finite where all of them are.
    const double norm = std::sqrt(sum_of_squares(floats_of(arena_.flat_gradients())));
    if (std::isfinite(norm)) {
      outcome_.gradient_norm = norm;
      if (clip_norm_ > 0) clip(norm);
      optimizer_.step(arena_.flat_values(), arena_.flat_gradients(), learning_rate);
    } else {
      if (outcome_.skipped++ == 0) outcome_.first_skipped = step;
      if (buffers != nullptr) buffers->restore();
      outcome_.finite_loss = outcome_.finite_loss && std::isfinite(step_.loss);
      outcome_.healthy = false;
      step_.loss = 0;  // on every rank, so that a mean over the epoch is one of what counts
      step_.counted_images = 0;
    }
    outcome_.sums.add(step_);
    outcome_.last = std::exchange(step_, {});
  }

  StepOutcome drain() override { return std::exchange(outcome_, {}); }

 private:
  void clip(double norm) {
    const double factor = clip_norm_ / (norm + 1e-6);
    if (factor >= 1) return;
    for (float& value : floats_of(arena_.flat_gradients())) value *= static_cast<float>(factor);
  }

  ParameterArena& arena_;
  Optimizer& optimizer_;
  const double clip_norm_;
  Totals step_;  // under way
  StepOutcome outcome_;
};

}  // namespace

void StepBackend::prepare(std::uint64_t, double, const data::BatchRequest&) {
  throw InternalError("only the steps of a device are recorded");
}

torch::Tensor StepBackend::differentiate(const TensorBatch&, const torch::Tensor&, double,
                                         const torch::Tensor&) {
  return {};
}

std::unique_ptr<StepBackend> make_step_backend(ParameterArena& arena, Optimizer& optimizer,
                                               double clip_norm) {
  return std::make_unique<HostStepBackend>(arena, optimizer, clip_norm);
}

}  // namespace tandem::train
