#include "progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

constexpr std::size_t kMinBar = 6;  // between its brackets
constexpr std::size_t kMaxBar = 24;
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
  bool warns = false;
};

double epochs_begun(double epoch) { return std::max(1.0, std::ceil(epoch - 1e-9)); }

double share_of_epoch(const ProgressView& view) {
  return std::clamp(view.epoch - epochs_begun(view.epoch) + 1, 0.0, 1.0);
}

std::string percent_text(double share) {
  const std::string digits = format_fixed(std::floor(100 * share + 1e-6), 0);
  return std::string(3 - std::min<std::size_t>(3, digits.size()), ' ') + digits + " %";
}

std::string milliseconds(double seconds) {
  return format_fixed(1000 * seconds, seconds < 0.1 ? 1 : 0);
}

std::vector<Field> fields_of(const ProgressView& view) {
  std::vector<Field> fields;
  const std::string epoch = epoch_text(view.epoch, view.total_epochs);
  fields.push_back({Segment::kEpoch, epoch, epoch.substr(epoch.find(' ') + 1)});
  const std::string percent = percent_text(share_of_epoch(view));
  fields.push_back({Segment::kPercent, percent, percent});
  if (view.latest) {
    const std::string loss = "loss " + loss_text(view.latest->loss);
    fields.push_back({Segment::kLoss, loss, loss});
    const std::string accuracy = format_fixed(view.latest->accuracy, 4);
    fields.push_back({Segment::kAccuracy, "accuracy " + accuracy, "acc " + accuracy});
    const std::string speed = format_count(std::llround(view.latest->images_per_second));
    fields.push_back({Segment::kSpeed, speed + " images/s", speed + "/s"});
    const std::string left = format_duration(view.seconds_left) + " left";
    fields.push_back({Segment::kLeft, left, left});
  }
  if (!view.activity.empty()) fields.push_back({Segment::kActivity, view.activity, view.activity});
  const auto slowest = view.latest ? find_straggler(view.latest->ranks) : std::nullopt;
  if (slowest) {
    const std::string rank = std::to_string(slowest->rank);
    const std::string later = " +" + milliseconds(slowest->seconds) + " ms";
    fields.push_back({Segment::kSlowest, "slowest rank " + rank + later, "r" + rank + later,
                      slowest->is_worth_telling()});
  }
  return fields;
}

std::string bar_of(double share, std::size_t width) {
  std::string bar(width, '-');
  std::fill_n(bar.begin(), static_cast<std::size_t>(share * static_cast<double>(width)), '#');
  return "[" + bar + "]";
}

std::size_t width_of(const std::vector<Field>& fields, bool brief) {
  std::size_t width = 0;
  for (const Field& field : fields) {
    width += (width == 0 ? 0 : 2) + (brief ? field.brief : field.text).size();
  }
  return width;
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
    line += (line.empty() ? "" : "  ") + (field.warns ? painted(text, kYellow) : text);
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

std::string loss_text(double loss) {
  return std::isfinite(loss) ? format_fixed(loss, 4) : "not finite";
}

std::string fit_progress(const ProgressView& view, std::size_t width, bool colors) {
  std::vector<Field> fields = fields_of(view);
  const double share = share_of_epoch(view);
  bool has_bar = true;
  const auto fitted = [&]() -> std::optional<std::string> {
    for (const bool brief : {false, true}) {
      const std::size_t others = width_of(fields, brief) + (has_bar ? kBarFrame : 0);
      if (others + (has_bar ? kMinBar : 0) > width) continue;
      const std::size_t bar = has_bar ? std::min(kMaxBar, width - others) : 0;
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
  const std::string step =
      "step " + std::to_string(view.step) + "/" + std::to_string(view.total_steps);
  fields.insert(fields.begin() + 2, Field{Segment::kPercent, step, step});
  return put_together(fields, false, 0, 0, false);
}

std::string rank_text(const RankRecord& rank) {
  const std::string loss = rank.images > 0 ? "  loss " + loss_text(rank.loss) : "  no image";
  return loss + "  " + format_count(std::llround(rank.images_per_second)) + " images/s  " +
         milliseconds(rank.step_seconds) + " ms/step: data " + milliseconds(rank.data_seconds) +
         ", compute " + milliseconds(rank.compute_seconds) + ", exchange " +
         milliseconds(rank.exchange_seconds);
}

}  // namespace tandem::metrics
