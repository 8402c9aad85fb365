// The engine: all code that computes with libtorch, in a library that is opened when a command
// needs a tensor. Loading libtorch takes a third of a second; help, refusals, data and reports do
// without it. A command reads its options into a plain request and passes it to the engine, whose
// side of each command is in src/engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/device_options.hpp"
#include "cli/train_options.hpp"
#include "job.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/augment.hpp"

namespace tandem::app {

struct RunRequest {
  TrainRequest train;
  Options options;  // from which `train` was read
  Arguments words;  // as typed
  std::chrono::steady_clock::time_point began;
};

struct EvalRequest {
  std::string data;
  std::string checkpoint;
  model::Precision precision = model::Precision::kFp32;
  bool channels_last = true;
  bool is_layout_given = false;  // otherwise a TorchScript network takes its own
  DeviceOptions device;
  int threads = 0;
  std::uint64_t batch_size = 0;
  std::uint64_t cache_bytes = 0;  // as train::ReadingOptions has it
  bool views = false;
  bool json = false;
};

struct PredictRequest {
  std::string checkpoint;
  std::vector<std::string> images;  // files, folders, or - for a list on standard input
  std::size_t batch_size = 0;
  device::DeviceRequest device;
  int threads = 0;
  bool json = false;
};

struct StepRequest {
  train::TrainConfig config;
  DeviceOptions device;
  std::uint64_t steps = 0;
  bool json = false;
};

struct AllReduceRequest {
  std::size_t least = 0;  // bytes
  std::size_t most = 0;
  double seconds = 0;  // for each size
  DeviceOptions device;
  comm::AllReduceAlgorithm algorithm = comm::AllReduceAlgorithm::kFlat;
  bool as_bf16 = false;
  bool json = false;
};

struct LoaderRequest {
  std::string data;  // empty: noise
  std::uint64_t batch_size = 0;
  std::uint64_t steps = 0;
  train::ReadingOptions reading;
  data::AugmentSpec augment;
  data::Decoding decoding = data::Decoding::kExact;
  int threads = 1;  // per rank
  data::Layout layout = data::Layout::kChannelsLast;
  bool json = false;
};

// The functions with a Job are collective. All return the exit code, or throw as commands do.
struct Engine {
  std::string (*libtorch_version)();
  int (*train)(Job&, RunRequest&);
  int (*eval)(Job&, const EvalRequest&);
  int (*predict)(const PredictRequest&);
  int (*export_model)(const std::string& checkpoint, const std::string& output);
  Json (*inspect_model)(const std::string& path);
  // A model, a checkpoint or a run folder. `reported`: the messages printed so far; none is
  // repeated.
  ExitCode (*verify_model)(const std::string& path, bool run_network,
                           std::set<std::string>& reported);
  int (*bench_step)(Job&, const StepRequest&);
  int (*bench_allreduce)(Job&, const AllReduceRequest&);
  int (*bench_loader)(Job&, const LoaderRequest&);
};

// Opens the library once and keeps it open. Throws UnavailableError if it or libtorch cannot be
// loaded, or if its source differs from that of this program.
const Engine& open_engine();
// Collective. Also requires that all ranks have loaded the same libtorch.
const Engine& open_engine(Job& job);

// The paths of the engine and of all other libraries that may be opened at run time and are there.
std::vector<std::string> libraries_opened();

}  // namespace tandem::app

// What the library exports. The version is that of its source: "0.1.0 1234567890ab".
extern "C" const tandem::app::Engine* tandem_engine();
extern "C" const char* tandem_engine_version();
