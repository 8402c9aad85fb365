// tandem predict: classifies pictures of any size with a model.
#include "cli/device_options.hpp"
#include "cli/execution_options.hpp"
#include "commands.hpp"
#include "session/engine.hpp"
#include "tandem/core/cgroup.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxBatch = 100'000;

int run_predict(const Arguments& arguments) {
  Options options = resolve_alone(predict_command(), arguments, true);
  options.require("checkpoint");
  PredictRequest request;
  request.checkpoint = options.text("checkpoint");
  request.images = options.positional();
  request.json = options.flag("json");
  request.device = read_device_options(options).request;
  request.batch_size = options.count("batch-size", 1, kMaxBatch);
  const int asked = read_threads(options);
  if (request.images.empty()) {
    options.add_fault("no IMAGE; give files, folders, or - for a list of files on standard input");
  }
  options.throw_faults("predict");
  request.threads = rank_threads(asked, usable_cpus());
  return open_engine().predict(request);
}

}  // namespace

Command predict_command() {
  return {"predict",
          "--checkpoint PATH IMAGE...",
          "class and probability for PNG and JPEG files of any size",
          "tandem predict --checkpoint runs/demo photos/ cat.jpg",
          {{"checkpoint", "PATH", "", "run folder or model.safetensors", "input"},
           {"batch-size", "N", "256", "images that the network takes at once", "execution"},
           device_option(),
           gpu_ids_option(),
           threads_option(),
           {"json", "", "false", "one JSON object a line on standard output", "reporting"}},
          run_predict,
          nullptr};
}

}  // namespace tandem::app
