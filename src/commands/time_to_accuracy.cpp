#include "time_to_accuracy.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <sstream>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kConfidence = 0.95;

std::optional<double> value_of(const Json& object, const std::string& name) {
  const double value = number_of(object, name);
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

double mean_of(const std::vector<double>& sample) {
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

// The standard error of the mean of two values or more.
double error_of_mean(const std::vector<double>& sample) {
  const auto count = static_cast<double>(sample.size());
  const double mean = mean_of(sample);
  double squares = 0;
  for (const double value : sample) squares += std::pow(value - mean, 2);
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace

TimedRun time_run(const metrics::RunRecord& run, std::uint64_t seed, double target) {
  if (run.state() != "completed") {
    throw DataError(run.path + ": the run is " + run.state() + ", a completed one was expected");
  }
  TimedRun timed;
  timed.run_id = run.run_id;
  timed.seed = seed;
  timed.train_seconds = number_of(run.summary, "train_seconds");
  std::istringstream lines(read_file(run.metrics_path()));
  double seconds = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json record = parse_json_or_discard(line);
    const std::string event = text_of(record, "event");
    if (event == "epoch") seconds += number_of(record, "train_seconds");
    if (event != "eval") continue;
    // A multi-label set has the mean average precision instead.
    timed.accuracy = value_of(record, "test_accuracy").value_or(number_of(record, "test_map"));
    timed.accuracy_tta = value_of(record, "test_accuracy_tta");
    const bool reached = timed.accuracy_tta.value_or(timed.accuracy) >= target;
    if (reached && !timed.seconds_to_target) timed.seconds_to_target = seconds;
  }
  return timed;
}

MeanInterval mean_interval(const std::vector<double>& sample) {
  MeanInterval interval;
  interval.mean = mean_of(sample);
  if (sample.size() < 2) return interval;
  const boost::math::students_t distribution(static_cast<double>(sample.size() - 1));
  const double half =
      boost::math::quantile(distribution, 0.5 + kConfidence / 2) * error_of_mean(sample);
  interval.least = interval.mean - half;
  interval.most = interval.mean + half;
  return interval;
}

std::optional<double> p_above(const std::vector<double>& sample, double target) {
  if (sample.size() < 2) return std::nullopt;
  const double above = mean_of(sample) - target;
  const double error = error_of_mean(sample);
  if (error == 0) return above > 0 ? 0 : 1;
  const boost::math::students_t distribution(static_cast<double>(sample.size() - 1));
  return boost::math::cdf(boost::math::complement(distribution, above / error));
}

Json to_json(const std::vector<double>& sample) {
  if (sample.empty()) return nullptr;
  const MeanInterval interval = mean_interval(sample);
  const auto bound = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  return {{"mean", interval.mean},
          {"least", bound(interval.least)},
          {"most", bound(interval.most)},
          {"runs", sample.size()}};
}

std::string to_text(const std::vector<double>& sample, int digits) {
  if (sample.empty()) return "-";
  const MeanInterval interval = mean_interval(sample);
  std::string text = format_fixed(interval.mean, digits);
  if (interval.least) {
    text += " (" + format_fixed(*interval.least, digits) + " to " +
            format_fixed(*interval.most, digits) + ")";
  }
  return text;
}

}  // namespace tandem::app
