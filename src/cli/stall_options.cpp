#include "stall_options.hpp"

#include <algorithm>
#include <utility>

namespace tandem::app {
namespace {

constexpr char kWarn[] = "stall-warn";
constexpr char kAbort[] = "stall-abort";

}  // namespace

OptionTable stall_options(const std::string& group) {
  return {{kWarn, "S", "60", "warn of a rank that has not advanced for S seconds; 0: never", group,
           kOfOutput},
          {kAbort, "S", "600", "end the job (124) if a rank hangs for S seconds; 0: never", group,
           kOfOutput}};
}

OptionTable with_stall_options(OptionTable table, const std::string& group) {
  for (OptionSpec& spec : stall_options(group)) table.push_back(std::move(spec));
  return table;
}

comm::StallLimits read_stall_limits(Options& options) {
  return {options.real(kWarn, 0, kMaxReal), options.real(kAbort, 0, kMaxReal)};
}

comm::StallLimits early_stall_limits(std::vector<std::string> arguments) {
  // Words after "--" may be options of another command with the same names.
  arguments.erase(std::remove(arguments.begin(), arguments.end(), "--"), arguments.end());
  const OptionTable table = stall_options("");
  try {
    CommandLine line = parse_command_line("", table, arguments, true);
    line.faults.clear();  // all other options are unknown here
    Options options = resolve(table, line);
    const comm::StallLimits limits = read_stall_limits(options);
    if (options.faults().empty()) return limits;
  } catch (const UsageError&) {
  }
  return {};
}

}  // namespace tandem::app
