#include "tandem/metrics/tensorboard.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "event_file.hpp"
#include "events.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"

namespace tandem::metrics {
namespace {

// Above this many ranks the values of each come less often: a file that all of them fill would grow
// with the ranks of the run, and TensorBoard reads it whole.
constexpr std::size_t kRanksAtFullRate = 16;

// True after the last step of each `every`th epoch.
bool is_due(double epochs_done, std::uint64_t every) {
  const double whole = std::round(epochs_done);
  constexpr double kRounding = 1e-9;
  return every > 0 && whole > 0 && std::abs(epochs_done - whole) < kRounding &&
         static_cast<std::uint64_t>(whole) % every == 0;
}

std::string rank_tag(std::size_t rank) {
  char tag[48];
  std::snprintf(tag, sizeof tag, "usage/rank-%04zu/", rank);
  return tag;
}

}  // namespace

TensorBoardSink::TensorBoardSink(TensorBoardSettings settings,
                                 const std::function<TensorBoardStart()>& describe)
    : settings_(std::move(settings)), last_step_(settings_.first_step) {
  const bool is_first = !has_event_files(settings_.folder);
  const bool goes_on = settings_.first_step > 0;
  file_ = std::make_unique<EventFile>(settings_.folder);
  append(version_event(unix_seconds()));
  // A resumed run repeats everything after the checkpoint; without a checkpoint everything,
  // including its description.
  if (!is_first) append(start_event(unix_seconds(), goes_on ? settings_.first_step + 1 : 0));
  if (is_first || !goes_on) describe_run(describe());
}

TensorBoardSink::~TensorBoardSink() = default;

void TensorBoardSink::finish() {
  Summary summary;
  summary.hparams_end(unix_seconds());
  write(summary, last_step_);
}

void TensorBoardSink::describe_run(const TensorBoardStart& start) {
  Summary summary;
  // The metrics beside the hyper-parameters on their page.
  const std::vector<std::string> measures = {"eval/" + start.score, "eval/loss", "train/loss"};
  summary.hparams(start.parameters, measures, settings_.run_id, unix_seconds());
  for (const NamedText& text : start.texts) summary.text(text.tag, text.markdown);
  write(summary, 0);
  for (const PngImage& image : start.images) {
    Summary one;
    one.image(image.tag, image);
    write(one, 0);
  }
}

void TensorBoardSink::on_step(const StepRecord& record) {
  Summary summary;
  summary.scalar("train/loss", record.loss);
  if (record.accuracy) summary.scalar("train/accuracy", *record.accuracy);
  summary.scalar("train/lr", record.learning_rate);
  summary.scalar("train/images_per_second", record.images_per_second);
  if (record.gradient_norm) summary.scalar("train/grad_norm", *record.gradient_norm);
  add_ranks(record.ranks, summary);
  write(summary, record.step);
}

// A rank's values are written once per this many samples of its machine, or per this many steps
// without samples.
bool TensorBoardSink::takes_rank(std::size_t rank, double samples, std::uint64_t every) {
  if (samples == 0) return steps_ % every == 0;
  double& written = samples_[rank];
  if (written > 0 && samples < written + static_cast<double>(every)) return false;
  written = samples;
  return true;
}

void TensorBoardSink::add_ranks(const std::vector<RankRecord>& ranks, Summary& summary) {
  samples_.resize(ranks.size());
  const std::uint64_t every = (ranks.size() + kRanksAtFullRate - 1) / kRanksAtFullRate;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankRecord& each = ranks[rank];
    if (!takes_rank(rank, each.system.samples, every)) continue;
    const std::string tag = rank_tag(rank);
    summary.scalar(tag + "step_seconds", each.step_seconds);
    summary.scalar(tag + "data_seconds", each.data_seconds);
    summary.scalar(tag + "compute_seconds", each.compute_seconds);
    summary.scalar(tag + "comm_seconds", each.exchange_seconds);
    for (std::size_t i = 0; i < kSystemValues; ++i) {
      const double value = each.system.values[i];
      if (SystemUsage::is_present(value)) summary.scalar(tag + kSystemValueSpecs[i].name, value);
    }
  }
  ++steps_;
}

void TensorBoardSink::on_epoch(const EpochRecord& record) {
  Summary summary;
  summary.scalar("train/epoch_loss", record.loss);
  if (record.accuracy) summary.scalar("train/epoch_accuracy", *record.accuracy);
  write(summary, record.step);
  if (!settings_.visit_weights || !is_due(record.epoch, settings_.histograms_every)) return;
  settings_.visit_weights([&](const std::string& name, Span<const float> values) {
    Summary one;
    one.histogram("weights/" + name, values);
    if (!one.empty()) write(one, record.step);
  });
}

void TensorBoardSink::on_evaluation(const EvaluationRecord& record) {
  Summary summary;
  const std::string group = record.of == "test" ? "eval" : record.of;
  summary.scalar(group + "/loss", record.loss);
  summary.scalar(group + "/" + record.score_name(), record.score());
  if (record.top5_accuracy) summary.scalar(group + "/accuracy_top5", *record.top5_accuracy);
  if (record.views_accuracy) summary.scalar("eval/accuracy_tta", *record.views_accuracy);
  write(summary, record.step);
}

void TensorBoardSink::on_note(const NoteRecord& record) {
  if (record.event != "warning") return;
  Summary summary;
  summary.text("run/warnings", record.text);
  write(summary, record.step);
}

void TensorBoardSink::write(const Summary& summary, std::uint64_t step) {
  last_step_ = std::max(last_step_, step);
  append(summary.event(unix_seconds(), step));
}

void TensorBoardSink::append(const std::string& event) {
  try {
    file_->append(event);
  } catch (const IoError& error) {
    warn_once(error);
  }
}

void TensorBoardSink::sync() {
  try {
    file_->sync();
    if (!name_is_durable_) sync_folder(settings_.folder);
    name_is_durable_ = true;
  } catch (const IoError& error) {
    warn_once(error);
  }
}

void TensorBoardSink::warn_once(const std::exception& error) {
  if (has_warned_.exchange(true)) return;
  settings_.warn(std::string(error.what()) +
                 "; training continues, and TensorBoard will lack values; free space there");
}

}  // namespace tandem::metrics
