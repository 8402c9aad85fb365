// tandem train: reads and checks the options. src/engine/run/train_run.cpp is the run itself.
#include <utility>

#include "commands.hpp"
#include "session/engine.hpp"
#include "session/terminal.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// The last one counts, as for every option, so that scripts can append options. But a user who
// names two files may want both.
void warn_of_unused_files(Job& job, Arguments arguments, const Options& options) {
  const std::pair<std::string, const char*> kinds[] = {
      {"data", "data set"}, {"config", "file of options"}, {"recipe", "recipe"}};
  for (const auto& [name, kind] : kinds) {
    const std::string used = options.text(name);
    for (const std::string& given : take_option(arguments, name)) {
      if (given == used) continue;
      job.warn("--" + name + " " + shell_word(given) + " is not used, because --" + name + " " +
               shell_word(used) + " stands after it; a run has one " + kind);
    }
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
  warn_of_unused_files(job, arguments, options);
  if (request.reporting.print_config) {
    options.resolve(unused_batch_option(options), "");
    if (job.is_root()) print_line(describe_options(options));
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
