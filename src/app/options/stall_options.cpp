#include "stall_options.hpp"

#include <cstdlib>
#include <utility>

namespace tandem::app {
namespace {

constexpr char kWarn[] = "stall-warn";
constexpr char kAbort[] = "stall-abort";
constexpr double kMostSeconds = 1e9;

// `otherwise` unless the text is a number in range.
double seconds_of(const std::string& text, double otherwise) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0';
  return is_number && seconds >= 0 && seconds <= kMostSeconds ? seconds : otherwise;
}

double early_value(const std::string& name, const std::vector<std::string>& arguments,
                   double seconds) {
  const char* environment = std::getenv(environment_variable(name).c_str());
  if (environment != nullptr) seconds = seconds_of(environment, seconds);
  const std::string option = "--" + name;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == option && i + 1 < arguments.size()) seconds = seconds_of(arguments[i + 1], seconds);
    if (word.rfind(option + "=", 0) == 0) {
      seconds = seconds_of(word.substr(option.size() + 1), seconds);
    }
  }
  return seconds;
}

}  // namespace

OptionTable stall_options(const std::string& group) {
  return {{kWarn, "S", "60", "warn of a rank that has not advanced for S seconds; 0: never", group},
          {kAbort, "S", "600", "end the job (124) if a rank hangs for S seconds; 0: never", group}};
}

OptionTable with_stall_options(OptionTable table, const std::string& group) {
  for (OptionSpec& spec : stall_options(group)) table.push_back(std::move(spec));
  return table;
}

comm::StallLimits read_stall_limits(Options& options) {
  return {options.real(kWarn, 0, kMostSeconds), options.real(kAbort, 0, kMostSeconds)};
}

comm::StallLimits early_stall_limits(const std::vector<std::string>& arguments) {
  comm::StallLimits limits;
  limits.warn_seconds = early_value(kWarn, arguments, limits.warn_seconds);
  limits.abort_seconds = early_value(kAbort, arguments, limits.abort_seconds);
  return limits;
}

}  // namespace tandem::app
