#include "tandem/metrics/console.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "progress_line.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

using namespace std::chrono_literals;
constexpr auto kRedraw = 250ms;
constexpr auto kLook = 500ms;
constexpr auto kPlainLine = 9s;  // and a look, so that ten seconds never pass

}  // namespace

ConsoleSink::ConsoleSink(ConsoleSettings settings)
    : settings_(std::move(settings)), last_line_(Clock::now()) {
  const ProgressStyle progress = settings_.progress;
  if (progress == ProgressStyle::kLines || progress == ProgressStyle::kLive) {
    thread_ = std::thread([this] { watch(); });
  }
}

ConsoleSink::~ConsoleSink() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (settings_.progress == ProgressStyle::kLive) clear_live_line();
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
  view.latest = latest_;
  view.activity = position.activity;
  if (latest_) {
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
  latest_ = record;
  latest_at_ = now;
  print_ranks("step " + std::to_string(record.step), record.ranks);
  if (now - last_line_ >= kRedraw || !settings_.log_ranks.empty()) refresh(now);
}

void ConsoleSink::on_epoch(const EpochRecord& record) {
  if (settings_.progress == ProgressStyle::kQuiet) return;
  const auto lock = begin();
  last_line_ = Clock::now();
  const std::string epoch = epoch_text(record.epoch, settings_.total_epochs);
  print_ranks(epoch, record.ranks);
  show_line(epoch + "  step " + std::to_string(record.step) + "  loss " + loss_text(record.loss) +
            "  accuracy " + format_fixed(record.accuracy, 4) + "  " +
            format_count(std::llround(static_cast<double>(record.images) /
                                      std::max(1e-9, record.train_seconds))) +
            " images/s  " + format_count(static_cast<std::int64_t>(record.images)) +
            " images exactly once");
  const auto straggler = find_straggler(record.ranks);
  if (straggler && straggler->is_worth_telling()) {
    show_line(straggler->describe(settings_.hosts));
  }
}

void ConsoleSink::on_evaluation(const EvaluationRecord& record) {
  if (settings_.progress == ProgressStyle::kQuiet) return;
  const auto lock = begin();
  last_line_ = Clock::now();
  show_line("eval " + std::to_string(record.images) + "/" + std::to_string(record.images) +
            " exactly once  " + record.of + " loss " + loss_text(record.loss) + "  " + record.of +
            " accuracy " + format_fixed(record.accuracy, 4) + "  (" +
            std::to_string(record.correct) + " correct, " + format_fixed(record.seconds, 1) +
            " s)" +
            (record.views_accuracy
                 ? "  with test-time augmentation " + format_fixed(*record.views_accuracy, 4)
                 : ""));
}

void ConsoleSink::on_note(const NoteRecord& record) {
  if (record.event == "warning") print_warning(record.text);
}

}  // namespace tandem::metrics
