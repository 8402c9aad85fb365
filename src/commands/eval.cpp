// tandem eval: exact loss and accuracy of a trained model on any number of ranks.
#include "cli/execution_options.hpp"
#include "cli/loader_options.hpp"
#include "cli/stall_options.hpp"
#include "commands.hpp"
#include "session/engine.hpp"
#include "tandem/comm/agree.hpp"

namespace tandem::app {
namespace {

EvalRequest read_eval_options(Options& options) {
  EvalRequest request;
  options.require("data");
  options.require("checkpoint");
  request.data = options.text("data");
  request.checkpoint = options.text("checkpoint");
  request.precision = model::parse_precision(options.choice("precision"));
  request.channels_last = options.flag("channels-last");
  request.is_layout_given = options.value("channels-last").origin != Origin::kDefault;
  request.device = read_device_options(options);
  request.threads = read_threads(options);
  request.batch_size = read_eval_batch_size(options);
  request.cache_bytes = read_cache_option(options);
  request.json = options.flag("json");
  request.views = options.flag("tta");
  options.throw_faults("eval");
  return request;
}

int run_eval(Job& job, const Arguments& arguments) {
  Options options = resolve_together(job, "eval", eval_command().options, arguments);
  EvalRequest request;
  comm::agree(job.world, [&] {
    request = read_eval_options(options);
    request.threads = rank_threads(request.threads, job.topology.default_threads());
  });
  return open_engine(job).eval(job, request);
}

}  // namespace

Command eval_command() {
  return {"eval",
          "--data FILE.h5 --checkpoint PATH",
          "exact test loss and accuracy, in all and per class",
          "mpirun -np 2 tandem eval --data synthetic.h5 --checkpoint runs/demo",
          with_stall_options(
              {{"data", "FILE.h5", "", "packed data set", "input"},
               {"checkpoint", "PATH", "", "run folder or model.safetensors", "input"},
               precision_option(),
               channels_last_option(),
               device_option(),
               gpu_ids_option(),
               share_gpu_option(),
               threads_option(),
               eval_batch_size_option(),
               in_group("execution", cache_option()),
               {"tta", "", "false", "also test-time augmentation, six times the work", "reporting"},
               {"json", "", "false", "one JSON object on standard output", "reporting"}},
              "safekeeping"),
          nullptr,
          run_eval};
}

}  // namespace tandem::app
