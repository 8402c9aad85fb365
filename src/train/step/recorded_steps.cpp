#include "tandem/train/recorded_steps.hpp"

#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::train {

std::string why_not_recorded(const RecordingFacts& facts) {
  if (!facts.is_wanted) return "--cuda-graph off";
  if (!facts.has_graphs) return "this needs libtandem_gpu.so and libtorch 2.11 or later";
  if (facts.profiles) return "--profile times each operation";
  if (facts.sums_on_host) return "gradients travel over MPI";
  if (facts.micro_batches > 1) return "--accumulate makes a step of several batches";
  if (facts.is_script) return "a TorchScript network may do other operations in each step";
  if (facts.weighs_classes) return "--class-weights scales the loss of each step differently";
  if (facts.augments_on_host)
    return "the loader makes the images of this --augment or data set on the host";
  if (!facts.has_resident_images) return "the images do not fit into the GPU's memory";
  return "";
}

RecordedSteps::RecordedSteps(StepGraphMaker make, std::function<void(const std::string&)> tell)
    : make_(std::move(make)), tell_(std::move(tell)) {}

void RecordedSteps::run(const StepShape& shape, const std::function<void()>& work) {
  if (has_failed_) return work();
  in_a_row_ = shape == last_ ? in_a_row_ + 1 : 0;
  last_ = shape;
  // The parameters that are trained change for good. Steps before the next recording need its
  // memory.
  if (shape.trained_parameters != shape_.trained_parameters) graph_.reset();
  if (graph_ != nullptr && shape == shape_) {
    graph_->replay();
    ++repeated_;
    return;
  }
  if (in_a_row_ < kWarmUpSteps) return work();
  graph_.reset();  // before the next one takes memory: the shape has changed for good
  if (!record(work)) return work();
  shape_ = shape;
  graph_->replay();
  ++repeated_;
}

// Returns false if it fails; the step and all later ones are then made without a recording.
bool RecordedSteps::record(const std::function<void()>& work) {
  try {
    graph_ = make_();
    graph_->capture(work);
    return true;
  } catch (const std::exception& error) {
    graph_.reset();
    has_failed_ = true;
    tell_("steps are not recorded as a CUDA graph: " + message_of(error));
    return false;
  }
}

}  // namespace tandem::train
