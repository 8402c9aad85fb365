// The limit of a job's time.
#include <regex>

#include "cli/train_options.hpp"
#include "launch_options.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Batch systems count in minutes, and a run needs some time before its --stop-margin. Slurm and LSF
// send their signal two minutes before the limit, Slurm up to a minute earlier.
constexpr std::uint64_t kLeastSeconds = 60;
constexpr std::uint64_t kLeastSecondsWithSignal = 300;
// Seconds that --max-time leaves before the limit of the job, besides its --stop-margin. The ranks
// start after the job. A short job has no room for it.
constexpr std::uint64_t kSecondsOfStart = 90;
constexpr std::uint64_t kShortJob = 600;

// Notes a fault. sbatch accepts more forms. Two numbers mean minutes and seconds there, which no
// user intends.
bool check_time(Options& options) {
  const std::string time = options.text("time");
  constexpr std::size_t kLongest = 32;
  if (time.size() > kLongest) {
    options.add_fault("--time is longer than " + std::to_string(kLongest) + " characters");
    return false;
  }
  if (time.empty() || std::regex_match(time, std::regex("[0-9]{1,9}(:[0-9]{1,9}:[0-9]{1,9})?")))
    return true;
  if (std::regex_match(time, std::regex("[0-9]{1,9}-[0-9]{1,9}(:[0-9]{1,9}){0,2}"))) return true;
  const bool two = std::regex_match(time, std::regex("[0-9]+:[0-9]+"));
  options.add_fault("--time: '" + time + "' is " +
                    (two ? "minutes and seconds to Slurm; write " + time +
                               ":00 for hours and minutes, or the minutes alone"
                         : std::string("not like 30 (minutes), 01:30:00 or 2-00:00:00")));
  return false;
}

// Of a limit that check_time() accepts.
std::uint64_t seconds_of(const std::string& limit) {
  const std::size_t dash = limit.find('-');
  const bool has_days = dash != std::string::npos;
  const std::vector<std::string> parts = split(has_days ? limit.substr(dash + 1) : limit, ':');
  // Without days one number is minutes, with days it is hours.
  std::uint64_t unit = has_days || parts.size() == 3 ? 3600 : 60;
  std::uint64_t seconds = has_days ? std::stoull(limit.substr(0, dash)) * 86'400 : 0;
  for (const std::string& part : parts) {
    seconds += std::stoull(part) * unit;
    unit /= 60;
  }
  return seconds;
}

}  // namespace

void read_time_limit(Options& options, const std::string& form, Launch& launch) {
  const std::string limit = options.text("time");
  launch.time_limit = limit;
  if (!check_time(options) || limit.empty()) return;
  const std::uint64_t seconds = seconds_of(limit);
  const bool stops_by_signal = form == "sbatch" || form == "apptainer";
  const bool has_signal = stops_by_signal || form == "lsf";
  const std::uint64_t least = has_signal ? kLeastSecondsWithSignal : kLeastSeconds;
  if (seconds < least) {
    options.add_fault("--time: '" + limit + "' leaves the job no time; give at least " +
                      format_quantity(least / 60, "minute") +
                      ", or leave it out for the queue's limit");
  } else if (seconds > std::uint64_t{kMaxHours} * 3600) {
    options.add_fault("--time: '" + limit + "' is longer than " + format_count(kMaxHours) +
                      " hours; give less");
  } else {
    launch.seconds_limit = seconds;
    if (!stops_by_signal)
      launch.max_time = seconds > kShortJob ? seconds - kSecondsOfStart : seconds;
  }
}

}  // namespace tandem::app
