// tandem train: reads and checks the options. src/engine/run/train_run.cpp is the run itself.
#include "commands.hpp"
#include "session/engine.hpp"
#include "session/terminal.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem::app {
namespace {

int run_train(Job& job, const Arguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const StopSignal stop_signal(job.is_root() ? find_stop_notice() : StopNotice());
  Options options = resolve_together(job, "train", train_option_table(), arguments);
  job.supervision().heartbeats().report(0, comm::Phase::kStartUp);
  TrainRequest request;
  comm::agree(job.world, job.topology.host, [&] { request = read_train_options(options); });
  if (request.reporting.print_config) {
    job.say(describe_options(options));
    return 0;
  }
  RunRequest run{request, std::move(options), arguments, began};
  return open_engine(job).train(job, run);
}

}  // namespace

Command train_command() {
  return {"train",
          "--data FILE.h5 [options]",
          "train a network on one or several ranks",
          "mpirun -np 2 tandem train --data synthetic.h5 --epochs 2 --run-id demo",
          train_option_table(),
          nullptr,
          run_train,
          {},
          nullptr,
          {"data", "recipe", "model", "epochs", "run-id", "resume"}};
}

}  // namespace tandem::app
