#include "tandem/metrics/console.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr int kBarWidth = 24;
constexpr double kWorthTelling = 0.1;  // of a step that all ranks wait for one

// Of a diverged network, or where every step was left out, there is none.
std::string loss_text(double loss) {
  return std::isfinite(loss) ? format_fixed(loss, 4) : "not finite";
}

std::string epoch_of(double epoch, double total) {
  return format_fixed(std::ceil(epoch - 1e-9), 0) + "/" + format_fixed(std::ceil(total), 0);
}

}  // namespace

std::string progress_line(const StepRecord& record, double total_epochs) {
  const double done = static_cast<double>(record.step) /
                      static_cast<double>(std::max<std::uint64_t>(1, record.total_steps));
  const int filled = static_cast<int>(done * kBarWidth);
  std::string bar(static_cast<std::size_t>(filled), '#');
  bar.resize(kBarWidth, '-');
  char text[200];
  std::snprintf(text, sizeof text,
                "epoch %s [%s] %3.0f %%  loss %s  accuracy %.4f  %s images/s  %s left",
                epoch_of(record.epoch, total_epochs).c_str(), bar.c_str(), 100 * done,
                loss_text(record.loss).c_str(), record.accuracy,
                format_count(std::llround(record.images_per_second)).c_str(),
                format_duration(record.seconds_left).c_str());
  return text;
}

ConsoleSink::ConsoleSink(double total_epochs, Progress progress, std::vector<std::string> hosts)
    : total_epochs_(total_epochs),
      progress_(progress),
      hosts_(std::move(hosts)),
      last_line_(Clock::now()) {}

ConsoleSink::~ConsoleSink() { erase_progress(); }

void ConsoleSink::on_step(const StepRecord& record) {
  if (progress_ == Progress::kQuiet || progress_ == Progress::kNone) return;
  const bool live = progress_ == Progress::kLive;
  const auto now = Clock::now();
  if (now - last_line_ < (live ? Clock::duration(kRedraw) : Clock::duration(kPlainLine))) return;
  last_line_ = now;
  const std::string line = progress_line(record, total_epochs_);
  if (!live) {
    print_error_line(line);
    return;
  }
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ConsoleSink::on_epoch(const EpochRecord& record) {
  if (progress_ == Progress::kQuiet) return;
  erase_progress();
  last_line_ = Clock::now();
  print_line("epoch " + epoch_of(record.epoch, total_epochs_) + "  step " +
             std::to_string(record.step) + "  loss " + loss_text(record.loss) + "  accuracy " +
             format_fixed(record.accuracy, 4) + "  " +
             format_count(std::llround(static_cast<double>(record.images) /
                                       std::max(1e-9, record.train_seconds))) +
             " images/s  " + format_count(static_cast<std::int64_t>(record.images)) +
             " images exactly once");
  const auto straggler = find_straggler(record.ranks);
  if (straggler && straggler->share >= kWorthTelling) print_line(straggler->describe(hosts_));
}

void ConsoleSink::on_evaluation(const EvaluationRecord& record) {
  if (progress_ == Progress::kQuiet) return;
  erase_progress();
  print_line("eval " + std::to_string(record.images) + "/" + std::to_string(record.images) +
             " exactly once  test loss " + loss_text(record.test_loss) + "  test accuracy " +
             format_fixed(record.test_accuracy, 4) + "  (" + std::to_string(record.correct) +
             " correct, " + format_fixed(record.seconds, 1) + " s)");
}

void ConsoleSink::on_note(const NoteRecord& record) {
  if (record.event != "warning") return;
  erase_progress();
  print_warning(record.text);
}

void ConsoleSink::erase_progress() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace tandem::metrics
