#include "run_console.hpp"

#include <algorithm>

#include "tandem/comm/agree.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// "gpu1" of "cuda:1 NVIDIA H100 0000:3B:00.0"
std::string short_device(const std::string& device) {
  const std::string cuda = "cuda:";
  if (!begins_with(device, cuda)) return device;
  return "gpu" + device.substr(cuda.size(), device.find(' ') - cuda.size());
}

}  // namespace

RunConsole::RunConsole(Job& job, const TrainReporting& reporting) {
  comm::agree(job.world, [&] { log_ranks_ = reporting.log_ranks.among(job.topology.world); });
  const bool wants_progress = reporting.progress && !reporting.quiet;
  if (job.is_root() && wants_progress) terminal_ = Terminal::find();
  if (reporting.quiet) {
    progress_ = metrics::ProgressStyle::kQuiet;
  } else if (!reporting.progress) {
    progress_ = metrics::ProgressStyle::kNone;
  } else if (terminal_) {
    progress_ = metrics::ProgressStyle::kLive;
  }
  const bool shows_output = terminal_ && terminal_->shows_standard_output();
  const bool shows_errors = terminal_ && terminal_->shows_standard_error();
  std::uint8_t streams[] = {shows_output, shows_errors};
  job.world.broadcast(Span<std::uint8_t>(streams, 2));
  share_terminal(streams[0] != 0, streams[1] != 0);
}

metrics::ConsoleSettings RunConsole::settings(const std::vector<std::string>& hosts,
                                              const std::vector<std::string>& devices) const {
  metrics::ConsoleSettings settings;
  settings.progress = progress_;
  settings.hosts = hosts;
  std::transform(devices.begin(), devices.end(), std::back_inserter(settings.devices),
                 short_device);
  settings.log_ranks = log_ranks_;
  if (terminal_) settings.columns = [this] { return terminal_->columns(); };
  settings.colors = terminal_ && allows_colors();
  return settings;
}

metrics::Position position_on(const comm::HeartbeatTable& heartbeats, std::uint64_t first,
                              const EvaluationCount& evaluation) {
  const comm::RankStatus view = heartbeats.view().front();
  switch (view.phase) {
    case comm::Phase::kStartUp:
      return {first, "", 0, 0};
    case comm::Phase::kEvaluation:
      return {view.step, "", evaluation.done, evaluation.images};
    case comm::Phase::kCheckpoint:
      return {view.step, comm::phase_name(view.phase), 0, 0};
    case comm::Phase::kExport:
    case comm::Phase::kShutdown:
    case comm::Phase::kDone:
      return {view.step, "", 0, 0};
    default:
      return {view.step - 1, "", 0, 0};
  }
}

}  // namespace tandem::app
