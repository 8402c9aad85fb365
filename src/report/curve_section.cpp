// The curves of loss, accuracy, throughput and learning rate: one set of drawings over steps, one
// over epochs and one over time. Radio buttons and style rules show one of them, without a script.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chart.hpp"
#include "sections.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kFewPoints = 100;
// A curve of at least this many lines is smoothed by a running mean over a fortieth of them.
constexpr std::size_t kMinSmoothed = 40;
constexpr std::size_t kWindows = 40;

struct Source {
  std::string event;
  std::string field;
  std::string name;
  bool is_rate = false;
};

// The x of a set of drawings.
struct Over {
  Axis axis = Axis::kStep;
  std::string name;  // "minutes"
  double unit = 1;   // seconds of time
};

Points place(Points points, const RunView& run, const Over& over) {
  if (over.axis != Axis::kTime) return points;
  for (Point& point : points) point.x = run.timeline.worked(point.x) / over.unit;
  return points;
}

// A smoothed curve, and behind it the values of the lines.
std::vector<Curve> curves_of(const Runs& runs, const RunView& run, const Source& source,
                             const Over& over, const std::string& name) {
  const auto& samples = run.lines.samples(source.event, source.field);
  const Points points =
      place(points_of(source.is_rate ? of_whole_windows(samples) : samples, over.axis), run, over);
  if (points.empty()) return {};
  const std::size_t columns = columns_for(runs.size());
  const auto thinned = [&](const Points& all, std::size_t count) {
    return thin(all, {points.front().x, points.back().x, count});
  };
  const bool is_of_steps = source.event == "step";
  const bool is_smoothed = is_of_steps && source.field != "lr" && points.size() >= kMinSmoothed;
  if (!is_smoothed) {
    const Points few = thinned(points, is_of_steps ? columns : columns / 2);
    return {{name, few, !is_of_steps && few.size() <= kFewPoints}};
  }
  const std::size_t window = points.size() / kWindows + 1;
  std::vector<Curve> curves;
  if (runs.size() <= kMaxRunsWithRankCurves) {
    curves.push_back({name + ", each line", thinned(points, columns)});
    curves.back().is_pale = true;
  }
  curves.push_back({name, thinned(smooth(points, window), columns / 2)});
  return curves;
}

// The starts after the first. An epoch has the same number of steps throughout a run.
std::vector<Mark> resumes_of(const RunView& run, const Over& over) {
  const std::vector<Timeline::Start>& starts = run.timeline.starts();
  const double epochs_per_step = epochs_of(run) / steps_of(run);
  std::vector<Mark> marks;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    const double step = starts[i].first_step;
    marks.push_back({over.axis == Axis::kStep    ? step
                     : over.axis == Axis::kEpoch ? step * epochs_per_step
                                                 : starts[i].worked / over.unit,
                     "resumed"});
  }
  return marks;
}

// A run's sources as curves of one chart; of several runs a chart for each source.
Html charts_of(const Runs& runs, const Over& over, const std::vector<Source>& sources,
               const Chart& like) {
  Chart chart = like;
  chart.over = over.name;
  chart.has_ends = true;
  if (runs.size() == 1) {
    chart.marks = resumes_of(runs.front(), over);
    for (const Source& source : sources) {
      for (Curve& curve : curves_of(runs, runs.front(), source, over, source.name)) {
        chart.curves.push_back(std::move(curve));
      }
    }
    return draw(chart);
  }
  chart.note.clear();
  Html charts;
  for (const Source& source : sources) {
    chart.title = like.title + (sources.size() > 1 ? ": " + source.name : "");
    chart.curves.clear();
    for (const RunView& run : runs) {
      std::vector<Curve> curves = curves_of(runs, run, source, over, run.name);
      if (curves.empty()) curves.push_back({run.name, {}});  // so that colors stay those of runs
      for (Curve& curve : curves) chart.curves.push_back(std::move(curve));
    }
    charts += draw(chart);
  }
  return charts;
}

// The reason why the training loss may be above the test loss.
std::string compare_losses(const RunView& run) {
  const std::string smoothing = run.record.option("label-smoothing");
  const std::string augment = run.record.option("augment");
  std::string text;
  if (!smoothing.empty() && smoothing != "0") text = "includes label smoothing " + smoothing;
  if (!augment.empty() && augment != "none") {
    text += (text.empty() ? "is" : " and is") + std::string(" of augmented images (") +
            shortened(augment, 60) + ")";
  }
  return text.empty() ? text
                      : "The training loss " + text +
                            ". The test loss is measured without that, so it can be lower.";
}

Html charts_over(const Runs& runs, const Over& over) {
  Chart loss;
  loss.title = "Loss";
  loss.may_be_logarithmic = true;
  loss.note = compare_losses(runs.front());
  Chart accuracy;
  accuracy.title = "Accuracy";
  accuracy.unit = Unit::kAccuracy;
  Chart precision = accuracy;
  precision.title = "Mean average precision";
  Chart speed;
  speed.title = "Images per second";
  speed.is_from_zero = true;
  Chart rate = speed;
  rate.title = "Learning rate";
  Chart norm;
  norm.title = "Norm of the gradient";
  norm.may_be_logarithmic = true;
  return charts_of(runs, over,
                   {{"step", "loss", "training, a batch"},
                    {"epoch", "loss", "training, mean of an epoch"},
                    {"eval", "test_loss", "test"},
                    {"eval", "validation_loss", "validation"}},
                   loss) +
         charts_of(runs, over,
                   {{"step", "accuracy", "training, a batch"},
                    {"epoch", "accuracy", "training, mean of an epoch"},
                    {"eval", "test_accuracy", "test"},
                    {"eval", "validation_accuracy", "validation"}},
                   accuracy) +
         charts_of(runs, over,
                   {{"eval", "test_map", "test"}, {"eval", "validation_map", "validation"}},
                   precision) +
         charts_of(runs, over, {{"step", "images_per_second", "whole job", true}}, speed) +
         charts_of(runs, over, {{"step", "lr", "learning rate"}}, rate) +
         charts_of(runs, over, {{"step", "grad_norm", "before it is limited"}}, norm);
}

Over over_time(const Runs& runs) {
  double longest = 0;
  for (const RunView& run : runs) {
    longest = std::fmax(longest, run.timeline.worked());
  }
  if (longest <= 120) return {Axis::kTime, "seconds", 1};
  if (longest <= 7200) return {Axis::kTime, "minutes", 60};
  return {Axis::kTime, "hours", 3600};
}

}  // namespace

Html curve_section(const Runs& runs) {
  std::vector<std::pair<std::string, Over>> choices{{"steps", {Axis::kStep, "steps"}},
                                                    {"epochs", {Axis::kEpoch, "epochs"}},
                                                    {"time", over_time(runs)}};
  // Runs with different batches have different steps, but comparable epochs.
  if (runs.size() > 1) std::swap(choices[0], choices[1]);
  Html buttons;
  Html drawings;
  for (const auto& [name, over] : choices) {
    const Html charts = charts_over(runs, over);
    if (charts.empty()) continue;
    Attributes button{{"type", "radio"}, {"name", "over"}, {"id", "over-" + name}};
    if (buttons.empty()) button.push_back({"checked", "checked"});
    buttons += element("input", button) + element("label", {{"for", "over-" + name}}, Html(name));
    const std::string style = "charts over-" + name + (runs.size() == 1 ? " results" : "");
    drawings += element("div", {{"class", style}}, charts);
  }
  if (drawings.empty()) {
    return section("Curves", element("p", Html("metrics.jsonl has no numbers yet.")));
  }
  const Html note =
      element("p", Html("Strong curves of training are means of a fortieth of the lines; pale ones "
                        "are the lines. Time leaves out pauses between a stop and a resume."));
  return section("Curves", element("div", {{"class", "choice"}}, buttons + note + drawings));
}

}  // namespace tandem::report
