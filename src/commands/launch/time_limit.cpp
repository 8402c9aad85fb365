#include "time_limit.hpp"

#include <regex>

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Batch systems count in minutes, and a run needs some time before its --stop-margin.
constexpr std::uint64_t kLeastSeconds = 60;
constexpr std::uint64_t kMostSeconds = std::uint64_t{100'000} * 3600;  // as of --max-time

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

std::uint64_t read_time_limit(Options& options) {
  const std::string limit = options.text("time");
  if (!check_time(options) || limit.empty()) return 0;
  const std::uint64_t seconds = seconds_of(limit);
  if (seconds < kLeastSeconds) {
    options.add_fault("--time: '" + limit +
                      "' leaves the job no time; give more, or leave it out for the queue's limit");
  } else if (seconds > kMostSeconds) {
    options.add_fault("--time: '" + limit + "' is longer than 100,000 hours; give less");
  }
  return seconds;
}

}  // namespace tandem::app
