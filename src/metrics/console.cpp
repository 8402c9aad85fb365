#include "tandem/metrics/console.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "progress_line.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::metrics {
namespace {

using namespace std::chrono_literals;
constexpr auto kRedraw = 250ms;
constexpr auto kLook = 500ms;
constexpr auto kPlainLine = 9s;       // below ten seconds, with the time until the next check
constexpr double kLeastWeight = 0.1;  // of the latest value in a running mean

}  // namespace

bool BestEvaluation::take(const EvaluationRecord& record) {
  if (!of.empty() && (record.of != of || record.score() <= accuracy)) return false;
  *this = {record.of, record.score(), record.epoch};
  return true;
}

void RunningMean::add(double value) {
  ++count_;
  if (!std::isfinite(mean_) || !std::isfinite(value)) {
    mean_ = value;
    count_ = 1;
  }
  mean_ += (value - mean_) * std::max(1 / static_cast<double>(count_), kLeastWeight);
}

ConsoleSink::ConsoleSink(ConsoleSettings settings)
    : settings_(std::move(settings)), last_line_(Clock::now()) {
  const ProgressStyle progress = settings_.progress;
  if (progress == ProgressStyle::kLines || progress == ProgressStyle::kLive) {
    thread_ = std::thread([this] { watch(); });
  }
}

ConsoleSink::~ConsoleSink() {
  stop_and_join(thread_, mutex_, changed_, stopping_);
  if (settings_.progress == ProgressStyle::kLive) clear_live_line();
  print_epoch();  // a run that stops before the evaluation
}

// Also while a step or an evaluation takes long.
void ConsoleSink::watch() {
  name_this_thread("console");
  const auto pause = settings_.progress == ProgressStyle::kLive ? kRedraw : kLook;
  std::unique_lock<std::mutex> lock(mutex_);
  try {
    while (!changed_.wait_for(lock, pause, [this] { return stopping_; })) refresh(Clock::now());
  } catch (...) {
    failure_ = std::current_exception();
  }
}

std::unique_lock<std::mutex> ConsoleSink::begin() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return lock;
}

ProgressView ConsoleSink::view(Clock::time_point now) const {
  const Position position = settings_.position();
  ProgressView view;
  view.step = std::min(std::max(position.step, latest_ ? latest_->step : 0), settings_.total_steps);
  view.total_steps = settings_.total_steps;
  view.epoch = static_cast<double>(view.step) / static_cast<double>(settings_.steps_per_epoch);
  view.total_epochs = settings_.total_epochs;
  view.activity = position.activity;
  view.evaluated = position.evaluated;
  view.to_evaluate = position.to_evaluate;
  view.slowest = slow_rank_.named();
  if (latest_) {
    view.latest = latest_;
    view.latest->loss = loss_.value();
    if (view.latest->accuracy) view.latest->accuracy = accuracy_.value();
    view.latest->images_per_second = 1 / std::max(1e-12, seconds_per_image_.value());
    const std::chrono::duration<double> since = now - latest_at_;
    view.seconds_left = std::max(0.0, latest_->seconds_left - since.count());
  }
  return view;
}

void ConsoleSink::refresh(Clock::time_point now) {
  if (settings_.progress == ProgressStyle::kLive) {
    // One column stays free: a terminal may begin a new row behind the last one.
    const std::size_t width = std::max<std::size_t>(settings_.columns(), 2) - 1;
    draw_live_line(fit_progress(view(now), width, settings_.colors));
    last_line_ = now;
  } else if (settings_.progress == ProgressStyle::kLines && now - last_line_ >= kPlainLine) {
    show_line(progress_in_log(view(now)));
    last_line_ = now;
  }
}

void ConsoleSink::print_ranks(const std::string& what, const std::vector<RankRecord>& ranks) {
  for (const int rank : settings_.log_ranks) {
    const auto index = static_cast<std::size_t>(rank);
    show_line("[r" + std::to_string(rank) + "/" + std::to_string(ranks.size()) + " " +
              settings_.hosts.at(index) + " " + settings_.devices.at(index) + "] " + what +
              rank_text(ranks.at(index)));
  }
}

void ConsoleSink::on_step(const StepRecord& record) {
  if (settings_.progress == ProgressStyle::kQuiet) return;
  const auto lock = begin();
  const auto now = Clock::now();
  const std::uint64_t steps = latest_ ? record.step - latest_->step : 1;
  if (!record.ranks.empty()) {
    slow_rank_.add(record.ranks, static_cast<double>(steps) * record.ranks.front().step_seconds);
  }
  loss_.add(record.loss);
  if (record.accuracy) accuracy_.add(*record.accuracy);
  seconds_per_image_.add(1 / std::max(1e-12, record.images_per_second));
  latest_ = record;
  latest_at_ = now;
  print_ranks("step " + std::to_string(record.step), record.ranks);
  if (now - last_line_ >= kRedraw || !settings_.log_ranks.empty()) refresh(now);
}

void ConsoleSink::on_epoch(const EpochRecord& record) {
  if (settings_.progress == ProgressStyle::kQuiet) return;
  const auto lock = begin();
  last_line_ = Clock::now();
  print_epoch();
  print_ranks(epoch_text(record.epoch, settings_.total_epochs), record.ranks);
  epoch_ = record;
  if (!record.is_evaluated) print_epoch();
}

// Prints the line of the last epoch, if it is not printed yet, and the rank that stays slow.
void ConsoleSink::print_epoch(const EvaluationRecord* evaluation, bool is_best) {
  if (!epoch_) return;
  show_line(epoch_line(
      {*epoch_, settings_.total_epochs, settings_.images_per_epoch, evaluation, is_best}));
  const auto straggler = find_straggler(epoch_->ranks);
  const int before =
      std::exchange(slow_in_epoch_, straggler && straggler->is_notable() ? straggler->rank : -1);
  const bool stays_slow =
      slow_in_epoch_ >= 0 &&
      (slow_in_epoch_ == before || epoch_->train_seconds >= StragglerWatch::kSeconds);
  if (stays_slow) show_line(straggler->describe(settings_.hosts));
  epoch_.reset();
}

void ConsoleSink::on_evaluation(const EvaluationRecord& record) {
  if (settings_.progress == ProgressStyle::kQuiet) return;
  const auto lock = begin();
  last_line_ = Clock::now();
  const bool is_best = settings_.best != nullptr && settings_.best->take(record);
  if (epoch_) {
    print_epoch(&record, is_best);
  } else {
    show_line(evaluation_line(record, is_best));
  }
}

void ConsoleSink::on_note(const NoteRecord& record) {
  if (record.event == "warning") print_warning(record.text);
}

}  // namespace tandem::metrics
