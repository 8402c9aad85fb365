#include "progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

constexpr std::size_t kMinBar = 8;  // between its brackets
constexpr std::size_t kMaxBar = 24;
constexpr std::size_t kBarStep = 4;   // so that a longer number seldom changes the bar
constexpr std::size_t kBarFrame = 3;  // a blank and the brackets
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

enum class Segment { kEpoch, kBar, kPercent, kLoss, kAccuracy, kSpeed, kLeft, kActivity, kSlowest };

// In the order in which they are given up.
constexpr Segment kLeastImportantFirst[] = {Segment::kSlowest,  Segment::kBar,     Segment::kSpeed,
                                            Segment::kAccuracy, Segment::kPercent, Segment::kLeft,
                                            Segment::kActivity, Segment::kLoss};

struct Field {
  Segment segment;
  std::string text;
  std::string brief;
};

double epochs_begun(double epoch) { return std::max(1.0, std::ceil(epoch - 1e-9)); }

// The share of the bar: of the evaluation, or of the part of the epoch that the run trains.
double share_done(const ProgressView& view) {
  if (view.to_evaluate > 0) {
    return std::min(1.0,
                    static_cast<double>(view.evaluated) / static_cast<double>(view.to_evaluate));
  }
  const double before = epochs_begun(view.epoch) - 1;
  const double part = std::min(1.0, view.total_epochs - before);
  return part <= 0 ? 1 : std::clamp((view.epoch - before) / part, 0.0, 1.0);
}

std::string percent_text(double share) {
  const std::string digits = format_fixed(std::floor(100 * share + 1e-6), 0);
  return std::string(3 - std::min<std::size_t>(3, digits.size()), ' ') + digits + " %";
}

std::string accuracy_text(double accuracy) { return format_fixed(accuracy, 3); }

std::string milliseconds(double seconds) {
  return format_fixed(1000 * seconds, seconds < 0.1 ? 1 : 0);
}

void add_numbers(const StepRecord& latest, std::vector<Field>& fields) {
  const std::string loss = "loss " + loss_text(latest.loss);
  fields.push_back({Segment::kLoss, loss, loss});
  if (latest.accuracy) {
    const std::string accuracy = "acc " + accuracy_text(*latest.accuracy);
    fields.push_back({Segment::kAccuracy, accuracy, accuracy});
  }
  const std::string speed = format_count(std::llround(latest.images_per_second));
  fields.push_back({Segment::kSpeed, speed + " images/s", speed + "/s"});
}

void add_activity(const ProgressView& view, std::vector<Field>& fields) {
  if (view.to_evaluate > 0) {
    const std::string done =
        "evaluating " + format_count(std::min(view.evaluated, view.to_evaluate));
    fields.push_back({Segment::kActivity, done + " of " + format_count(view.to_evaluate), done});
  } else if (!view.activity.empty()) {
    fields.push_back({Segment::kActivity, view.activity, view.activity});
  }
}

std::vector<Field> fields_of(const ProgressView& view) {
  std::vector<Field> fields;
  const std::string epoch = epoch_text(view.epoch, view.total_epochs);
  fields.push_back({Segment::kEpoch, epoch, epoch.substr(epoch.find(' ') + 1)});
  const std::string percent = percent_text(share_done(view));
  fields.push_back({Segment::kPercent, percent, percent});
  if (view.latest && view.to_evaluate == 0) add_numbers(*view.latest, fields);
  add_activity(view, fields);
  if (view.latest) {
    const std::string left = format_duration(view.seconds_left) + " left";
    fields.push_back({Segment::kLeft, left, left});
  }
  if (view.slowest && view.to_evaluate == 0) {
    const std::string rank = std::to_string(view.slowest->rank);
    const std::string later = " +" + milliseconds(view.slowest->seconds) + " ms";
    fields.push_back({Segment::kSlowest, "slow rank " + rank + later, "slow r" + rank + later});
  }
  return fields;
}

std::string bar_of(double share, std::size_t width) {
  std::string bar(width, '-');
  std::fill_n(bar.begin(), static_cast<std::size_t>(share * static_cast<double>(width) + 1e-6),
              '#');
  return "[" + bar + "]";
}

std::size_t width_of(const std::vector<Field>& fields, bool brief) {
  std::size_t width = 0;
  for (const Field& field : fields) {
    width += (width == 0 ? 0 : 2) + (brief ? field.brief : field.text).size();
  }
  return width;
}

// "test 0.559 *best", "validation 0.559", "test 0.559, tta 0.565", "test mAP 0.559"
std::string result_text(const EvaluationRecord& record, bool is_best) {
  return record.of + (record.mean_average_precision ? " mAP " : " ") +
         accuracy_text(record.score()) +
         (record.views_accuracy ? ", tta " + accuracy_text(*record.views_accuracy) : "") +
         (is_best ? " *best" : "");
}

// A bar of `bar` columns, if any, stands behind the epoch.
std::string put_together(const std::vector<Field>& fields, bool brief, std::size_t bar,
                         double share, bool colors) {
  const auto painted = [&](const std::string& text, const char* color) {
    return colors ? color + text + kPlain : text;
  };
  std::string line;
  for (const Field& field : fields) {
    const std::string& text = brief ? field.brief : field.text;
    const bool warns = field.segment == Segment::kSlowest;
    line += (line.empty() ? "" : "  ") + (warns ? painted(text, kYellow) : text);
    if (field.segment == Segment::kEpoch && bar > 0)
      line += " " + painted(bar_of(share, bar), kGreen);
  }
  return line;
}

}  // namespace

std::string epoch_text(double epoch, double total_epochs) {
  return "epoch " + format_fixed(epochs_begun(epoch), 0) + "/" +
         format_fixed(std::ceil(total_epochs), 0);
}

std::string seconds_text(double seconds) {
  if (seconds >= 119.5) return format_duration(seconds);
  return format_fixed(seconds, seconds < 9.95 ? 1 : 0) + " s";
}

std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return "not finite";
  const double size = std::abs(loss);
  if (size >= 1e5 || (size > 0 && size < 1e-4)) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "%.1e", loss);
    return buffer;
  }
  return format_fixed(loss, size < 0.1 ? 4 : 3);
}

std::string fit_progress(const ProgressView& view, std::size_t width, bool colors) {
  std::vector<Field> fields = fields_of(view);
  const double share = share_done(view);
  bool has_bar = true;
  const auto fitted = [&]() -> std::optional<std::string> {
    for (const bool brief : {false, true}) {
      const std::size_t others = width_of(fields, brief) + (has_bar ? kBarFrame : 0);
      if (others + (has_bar ? kMinBar : 0) > width) continue;
      const std::size_t bar =
          has_bar ? std::min(kMaxBar, (width - others) / kBarStep * kBarStep) : 0;
      return put_together(fields, brief, bar, share, colors);
    }
    return std::nullopt;
  };
  if (const auto line = fitted()) return *line;
  for (const Segment segment : kLeastImportantFirst) {
    if (segment == Segment::kBar) has_bar = false;
    const auto end = std::remove_if(fields.begin(), fields.end(),
                                    [&](const Field& field) { return field.segment == segment; });
    fields.erase(end, fields.end());
    if (const auto line = fitted()) return *line;
  }
  return fields.front().brief.substr(0, width);
}

std::string progress_in_log(const ProgressView& view) {
  std::vector<Field> fields = fields_of(view);
  if (view.to_evaluate == 0) {
    const std::string step =
        "step " + format_count(view.step) + "/" + format_count(view.total_steps);
    fields[1] = {Segment::kPercent, step, step};
  }
  return put_together(fields, width_of(fields, false) > kLineColumns, 0, 0, false);
}

std::string epoch_line(const EpochView& view) {
  const EpochRecord& epoch = view.epoch;
  std::string line = epoch_text(epoch.epoch, view.total_epochs) + "  loss " +
                     loss_text(epoch.loss) +
                     (epoch.accuracy ? "  acc " + accuracy_text(*epoch.accuracy) : "") + " | ";
  if (view.evaluation != nullptr) line += result_text(*view.evaluation, view.is_best) + " | ";
  const std::string time = "  " + seconds_text(epoch.train_seconds);
  const bool is_part = epoch.images < view.images_per_epoch;
  const std::string speed = format_count(
      std::llround(static_cast<double>(epoch.images) / std::max(1e-9, epoch.train_seconds)));
  const std::string part =
      format_count(epoch.images) + " of " + format_count(view.images_per_epoch) + " images";
  std::string full = line + (is_part ? part : speed + " images/s") + time;
  if (full.size() <= kLineColumns) return full;
  return line + (is_part ? part : speed + "/s" + time);
}

std::string evaluation_line(const EvaluationRecord& record, bool is_best) {
  const std::string answers =
      record.mean_average_precision
          ? format_count(record.images) + " images"
          : format_count(record.correct) + " of " + format_count(record.images) + " correct";
  return result_text(record, is_best) + "  loss " + loss_text(record.loss) + "  " + answers + "  " +
         seconds_text(record.seconds);
}

std::string rank_text(const RankRecord& rank) {
  const std::string loss = rank.images > 0 ? "  loss " + loss_text(rank.loss) : "  no image";
  return loss + "  " + format_count(std::llround(rank.images_per_second)) + " images/s  " +
         milliseconds(rank.step_seconds) + " ms/step: data " + milliseconds(rank.data_seconds) +
         ", compute " + milliseconds(rank.compute_seconds) + ", exchange " +
         milliseconds(rank.exchange_seconds);
}

}  // namespace tandem::metrics
