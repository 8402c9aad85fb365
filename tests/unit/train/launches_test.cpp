// How many kernels a GPU would start for a step of fastnet: the step is made on the CPU by the
// emulated operators, and libtorch's own calls are counted.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/emulated_gpu.hpp"
#include "support/lone_communicator.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/train/muon.hpp"
#include "tandem/train/reducer.hpp"
#include "tandem/train/step_runner.hpp"

namespace tandem::train {
namespace {

// What starts no kernel by itself: views, what is known without the data, memory, and calls that do
// their work by others, which are counted in their place.
const std::set<std::string>& free_calls() {
  static const std::set<std::string> calls{"view",
                                           "_unsafe_view",
                                           "reshape",
                                           "select",
                                           "slice",
                                           "narrow",
                                           "permute",
                                           "transpose",
                                           "t",
                                           "mT",
                                           "squeeze",
                                           "unsqueeze",
                                           "expand",
                                           "expand_as",
                                           "as_strided",
                                           "detach",
                                           "detach_",
                                           "alias",
                                           "flatten",
                                           "view_as",
                                           "numpy_T",
                                           "empty",
                                           "empty_like",
                                           "empty_strided",
                                           "resize_",
                                           "set_",
                                           "lift_fresh",
                                           "requires_grad_",
                                           "result_type",
                                           "is_floating_point",
                                           "unbind",
                                           "split",
                                           "chunk",
                                           "item",
                                           "to",
                                           "contiguous",
                                           "linear",
                                           "matmul",
                                           "max_pool2d",
                                           "conv2d",
                                           "zeros",
                                           "zeros_like",
                                           "ones_like",
                                           "full",
                                           "clone",
                                           "_to_copy",
                                           "resolve_conj",
                                           "resolve_neg",
                                           "pin_memory"};
  return calls;
}

// What starts other than one kernel.
std::size_t kernels_of(const std::string& name, c10::ArrayRef<const c10::IValue> inputs) {
  // The addend is copied first, and cuBLAS adds to the copy.
  if (name == "baddbmm" || name == "addmm") return 2;
  // The bias is added by a kernel of its own.
  if (name == "convolution") return inputs[2].isTensor() && inputs[2].toTensor().defined() ? 2 : 1;
  if (name == "convolution_backward") {
    std::size_t gradients = 0;
    for (const bool wanted : inputs[10].toBoolList()) gradients += wanted ? 1 : 0;
    return gradients;
  }
  if (name == "max_pool2d_with_indices_backward" || name == "constant_pad_nd") return 2;
  return 1;
}

struct Counted {
  std::map<std::string, std::size_t> kernels;
  int inside = 0;  // a call that has been counted: what it calls is its own
  std::size_t emulated = 0;

  std::size_t sum() const {
    std::size_t all = 0;
    for (const auto& [name, count] : kernels) all += count;
    return all;
  }
  std::string text() const {
    std::string lines;
    for (const auto& [name, count] : kernels) lines += std::to_string(count) + " " + name + "\n";
    return lines;
  }
};

Counted* counting = nullptr;

struct Call : public at::ObserverContext {
  bool is_counted = false;
  bool is_fused = false;
  std::uint64_t launches = 0;
  std::string name;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  auto call = std::make_unique<Call>();
  const std::string name = function.name();
  const std::size_t at = name.find("::");
  call->name = at == std::string::npos ? name : name.substr(at + 2);
  call->is_fused = name.rfind("tandem::", 0) == 0;
  call->launches = gpu::emulated::launches();
  // Of a node of the graph, which calls operators.
  const bool is_node = call->name.rfind("engine::", 0) == 0;
  if (counting->inside == 0 && !call->is_fused && !is_node && free_calls().count(call->name) == 0) {
    counting->kernels[call->name] += kernels_of(call->name, function.inputs());
    call->is_counted = true;
  }
  if (call->is_counted || call->is_fused) ++counting->inside;
  return call;
}

void end(const at::RecordFunction&, at::ObserverContext* context) {
  const auto* call = static_cast<Call*>(context);
  if (call->is_fused) {
    counting->kernels["tandem::" + call->name] += gpu::emulated::launches() - call->launches;
  }
  if (call->is_counted || call->is_fused) --counting->inside;
}

Counted count_kernels(const std::function<void()>& work) {
  Counted counted;
  counting = &counted;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  counting = nullptr;
  return counted;
}

// Fastnet by Muon in bfloat16, two images a step.
class Launches : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSteps = 8;
  static constexpr std::size_t kImages = 2 * kSteps;

  Launches() {
    options_.name = "muon";
    options_.nesterov = true;
    options_.early_steps = 100;
    settings_.precision = model::Precision::kBf16;
    settings_.skip_nonfinite = true;
    plan_.image_count = kImages;
    plan_.global_batch = 2;
    plan_.steps = kSteps;
  }
  // After UseOnCpu, where a test has it.
  void prepare() {
    torch::manual_seed(4);
    network_ = model::make_network("fastnet", {3, 32, 32}, 10);
    arena_ = std::make_unique<ParameterArena>(*network_, true);
    exchange_ = std::make_unique<Reducer>(*arena_, alone_, 0);
    optimizer_ = make_device_muon(options_, *arena_, 0.1, network_->early_parameters());
    backend_ = make_device_step_backend(*arena_, *optimizer_, 0, settings_.precision);
    const data::ImagesView view{
        {3, 32, 32}, {pixels_.data(), pixels_.size()}, {labels_.data(), labels_.size()}};
    const PixelMoments moments{{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}, torch::kBFloat16};
    batches_ = std::make_unique<ResidentBatches>(
        view, data::Layout::kChannelsLast, moments,
        data::AugmentKey{data::AugmentSpec::parse("crop=4,flip"), 3},
        std::make_unique<data::TrainingSampler>(plan_, 0, 1), torch::kCPU);
  }
  StepContext context() { return {*network_, *arena_, *exchange_, *backend_, *batches_}; }

  const std::vector<std::uint8_t> pixels_ = std::vector<std::uint8_t>(kImages * 3 * 32 * 32, 77);
  const std::vector<data::Label> labels_ = std::vector<data::Label>(kImages, 3);
  OptimizerOptions options_;
  StepSettings settings_;
  data::TrainingPlan plan_;
  testing::LoneCommunicator alone_;
  model::NetworkPtr network_;
  std::unique_ptr<ParameterArena> arena_;
  std::unique_ptr<Reducer> exchange_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<StepBackend> backend_;
  std::unique_ptr<ResidentBatches> batches_;
};

TEST_F(Launches, OfAStepOfFastnetStayFew) {
  const model::fused::UseOnCpu use;
  prepare();
  StepRunner runner(context(), settings_);
  runner.run(0, 0.1);
  const Counted counted = count_kernels([&] { runner.run(1, 0.1); });
  EXPECT_TRUE(arena_->flat_values().isfinite().all().item<bool>());
  EXPECT_LE(counted.sum(), 110U) << "kernels of a step:\n" << counted.text();
  // In a recorded step nothing may wait for the device.
  EXPECT_EQ(counted.kernels.count("_local_scalar_dense"), 0U);
}

// One launch on a GPU, whatever it holds.
class OneLaunch final : public model::StepGraph {
 public:
  explicit OneLaunch(int& replays) : replays_(replays) {}
  void capture(const std::function<void()>& /*work*/) override {}
  void replay() override { ++replays_; }

 private:
  int& replays_;
};

TEST_F(Launches, OfARecordedStepAreTheGraphAndTwoCopies) {
  prepare();
  int replays = 0;
  RecordedSteps recorded([&] { return std::make_unique<OneLaunch>(replays); },
                         [](const std::string& why) { FAIL() << why; });
  StepContext step = context();
  step.recorded = &recorded;
  StepRunner runner(step, settings_);
  for (int i = 0; i <= RecordedSteps::kWarmUpSteps; ++i) {
    runner.run(static_cast<std::uint64_t>(i), 0.1);
  }
  EXPECT_EQ(replays, 1);
  const Counted counted = count_kernels([&] { runner.run(RecordedSteps::kWarmUpSteps + 1, 0.1); });
  EXPECT_EQ(replays, 2);
  // The random numbers of the batch, and the numbers of the step.
  EXPECT_EQ(counted.text(), "2 copy_\n");
}

}  // namespace
}  // namespace tandem::train
