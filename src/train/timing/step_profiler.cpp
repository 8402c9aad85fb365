#include "tandem/train/step_profiler.hpp"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::train {
namespace {

namespace profiler = torch::autograd::profiler;

constexpr std::size_t kLongestTrace = std::size_t{1} << 30;  // a message has less than 2 GiB
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// "X" is a complete event of the Trace Event Format, times in microseconds.
Json to_json(const profiler::KinetoEvent& event, int rank) {
  const model::EventTime time = model::time_of(event);
  const bool on_cpu = event.deviceType() == c10::DeviceType::CPU;
  std::string track = on_cpu ? "thread " : "GPU stream ";
  track += std::to_string(on_cpu ? event.startThreadId()
                                 : static_cast<std::uint64_t>(event.deviceResourceId()));
  return {{"ph", "X"},
          {"name", event.name()},
          {"ts", time.begin_microseconds},
          {"pid", rank},
          {"dur", time.microseconds},
          {"tid", track},
          {"cat", on_cpu ? "cpu" : "gpu"}};
}

std::string trace_of(const profiler::ProfilerResult& result, int rank) {
  Json events = Json::array();
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", rank},
                    {"args", {{"name", "rank " + std::to_string(rank)}}}});
  for (const profiler::KinetoEvent& event : result.events()) events.push_back(to_json(event, rank));
  return Json({{"displayTimeUnit", "ms"}, {"traceEvents", events}}).dump();
}

void write_trace(const std::string& path, const std::string& trace) {
  if (trace.empty()) throw IoError(path + ": the trace is longer than 1 GiB; record fewer steps");
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw CannotCreateError(folder.string() + ": " + error.message());
  write_file_atomically(path, trace);
}

// The host runs ahead of a GPU, whose work is recorded when it is done.
void wait_for(torch::Device device) { on_host(torch::zeros({}, device)); }

}  // namespace

// The phases are scopes around the operators, so that both stand in one trace.
struct StepProfiler::Recording {
  std::optional<at::RecordFunction> phase;

  explicit Recording(bool with_gpu) {
    // Without a GPU libtorch's profiler prints a message that looks like an error.
    if (!with_gpu) ::setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
    const ProfilerConfig config(ProfilerState::KINETO);
    std::set<ActivityType> activities{ActivityType::CPU};
    if (with_gpu) activities.insert(ActivityType::CUDA);
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  }
  void enter(comm::Phase entered) {
    phase.reset();
    phase.emplace(at::RecordScope::USER_SCOPE);
    if (phase->isActive()) phase->before(comm::phase_name(entered));
  }
  std::unique_ptr<profiler::ProfilerResult> end() {
    phase.reset();
    return profiler::disableProfiler();
  }
};

StepProfiler::StepProfiler(comm::Communicator& comm, comm::Progress& next, StepRange steps,
                           torch::Device device, std::function<std::string(int rank)> path_of,
                           metrics::Warn warn)
    : comm_(comm),
      next_(next),
      steps_(steps),
      device_(device),
      path_of_(std::move(path_of)),
      warn_(std::move(warn)) {}

StepProfiler::~StepProfiler() {
  if (recording_) recording_->end();  // an exception passes
}

void StepProfiler::report(std::uint64_t step, comm::Phase phase) {
  next_.report(step, phase);
  if (done_ || step < steps_.first) return;
  // Phases after the last step, such as an evaluation, are attributed to that step.
  const bool in_step = phase == comm::Phase::kData || phase == comm::Phase::kCompute ||
                       phase == comm::Phase::kExchange || phase == comm::Phase::kUpdate;
  if (step > steps_.last || (step == steps_.last && !in_step)) {
    finish();
    return;
  }
  if (!recording_) {
    wait_for(device_);
    recording_ = std::make_unique<Recording>(device_.is_cuda());
  }
  recording_->enter(phase);
}

bool StepProfiler::finish() {
  if (!recording_) return done_;
  done_ = true;
  wait_for(device_);
  const auto result = recording_->end();
  recording_.reset();
  leave_traces(trace_of(*result, comm_.rank()));
  return true;
}

// Gathers one rank at a time, because all traces together may exceed the largest MPI message. A
// trace that cannot be written does not end training.
void StepProfiler::leave_traces(std::string mine) {
  if (mine.size() > kLongestTrace) mine.clear();
  std::string failure;  // the first one, on rank 0
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto traces = comm_.gather_strings(rank == comm_.rank() ? mine : "");
    if (traces.empty() || !failure.empty()) continue;
    try {
      write_trace(path_of_(rank), traces[static_cast<std::size_t>(rank)]);
    } catch (const std::exception& error) {
      failure = message_of(error);
    }
  }
  if (!failure.empty()) warn_("--profile: " + failure + "; training continues");
}

}  // namespace tandem::train
