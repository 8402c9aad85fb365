// tandem train: reads and checks the options. src/engine/run/train_run.cpp is the run itself.
#include "commands.hpp"
#include "session/engine.hpp"
#include "session/terminal.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// The last --data counts, as for every option, so that scripts can append options. A user who names
// two data sets may want both, so a warning follows.
void warn_of_unused_data(Job& job, Arguments arguments, const std::string& used) {
  for (const std::string& given : take_option(arguments, "data")) {
    if (given == used) continue;
    job.warn("--data " + shell_word(given) + " is not used, because --data " + shell_word(used) +
             " stands after it; a run trains on one data set");
  }
}

int run_train(Job& job, const Arguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const StopSignal stop_signal(job.is_root() ? find_stop_notice() : StopNotice());
  Options options = resolve_together(job, "train", train_option_table(), arguments);
  job.supervision().heartbeats().report(0, comm::Phase::kStartUp);
  TrainRequest request;
  comm::agree(job.world, [&] { request = read_train_options(options); });
  // Not of a resumed run, whose options must stay those of its first start.
  if (request.reporting.resume == "none") {
    for (const std::string& sentence : describe_unused(options)) job.warn(sentence);
  }
  if (request.reporting.print_config) {
    if (job.is_root()) print_line(describe_options(options));
    return 0;
  }
  warn_of_unused_data(job, arguments, request.config.data);
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
