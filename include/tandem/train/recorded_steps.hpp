// Steps that a device repeats from one recording, a CUDA graph: starting one recording takes the
// host less time than starting each of its kernels. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tandem/model/step_graph.hpp"

namespace tandem::train {

using StepGraphMaker = std::function<std::unique_ptr<model::StepGraph>()>;

// What a run has and asks for.
struct RecordingFacts {
  bool is_wanted = true;    // --cuda-graph
  bool has_graphs = false;  // a GPU, with libtandem_gpu.so
  bool profiles = false;
  bool is_script = false;
  bool weighs_classes = false;
  bool augments_on_host = false;
  bool has_resident_images = true;
  bool sums_on_host = false;  // gradients, over MPI
  std::size_t micro_batches = 1;
};
// Why steps are not recorded; "": they are.
std::string why_not_recorded(const RecordingFacts& facts);

// What a recording is for. Another shape makes another one.
struct StepShape {
  std::size_t images = 0;
  std::size_t trained_parameters = 0;
  std::uint64_t global_images = 0;  // of all ranks, by which the gradient is divided
  bool operator==(const StepShape& other) const {
    return images == other.images && trained_parameters == other.trained_parameters &&
           global_images == other.global_images;
  }
};

class RecordedSteps {
 public:
  // libtorch's first steps allocate, load kernels and time them, which no recording may.
  static constexpr int kWarmUpSteps = 3;

  // If recording fails, calls `tell` once, with the reason.
  RecordedSteps(StepGraphMaker make, std::function<void(const std::string&)> tell);

  // Makes a step by `work`, or by the recording of an earlier call. Records once a shape has come
  // kWarmUpSteps times in a row, so not for the short batch at the end of an epoch. `work` must
  // start the same operations on the same memory each time.
  void run(const StepShape& shape, const std::function<void()>& work);
  // How many steps were repeated from a recording.
  std::size_t repeated() const { return repeated_; }

 private:
  bool record(const std::function<void()>& work);

  const StepGraphMaker make_;
  const std::function<void(const std::string&)> tell_;
  bool has_failed_ = false;
  StepShape shape_;   // of the recording
  StepShape last_;    // of the last step
  int in_a_row_ = 0;  // steps of its shape before it
  std::unique_ptr<model::StepGraph> graph_;
  std::size_t repeated_ = 0;
};

}  // namespace tandem::train
