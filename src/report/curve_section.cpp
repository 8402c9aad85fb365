#include "chart.hpp"
#include "sections.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kFewPoints = 100;

struct Source {
  std::string event;
  std::string field;
  std::string name;
};

// Steps of runs with unlike batches are not the same; their epochs are.
Axis axis_of(const Runs& runs) { return runs.size() == 1 ? Axis::kStep : Axis::kEpoch; }

Curve curve_of(const RunView& run, const Source& source, Axis axis, std::size_t columns,
               const std::string& name) {
  Curve curve;
  curve.name = name;
  const Points points = points_of(run.lines, source.event, source.field, axis);
  if (!points.empty()) curve.points = thin(points, {points.front().x, points.back().x, columns});
  curve.has_marks = source.event != "step" && curve.points.size() <= kFewPoints;
  return curve;
}

// A run's sources as curves of one chart; of several runs a chart for each source.
Html charts_of(const Runs& runs, const std::string& title, const std::vector<Source>& sources,
               const Chart& like) {
  const std::size_t columns = columns_for(runs.size());
  Chart chart = like;
  chart.axis = axis_of(runs);
  if (runs.size() == 1) {
    chart.title = title;
    for (const Source& source : sources) {
      Curve curve = curve_of(runs.front(), source, chart.axis, columns, source.name);
      if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    }
    return draw(chart);
  }
  Html charts;
  for (const Source& source : sources) {
    chart.title = title + (sources.size() > 1 ? ": " + source.name : "");
    chart.curves.clear();
    for (const RunView& run : runs) {
      chart.curves.push_back(curve_of(run, source, chart.axis, columns, run.name));
    }
    charts += draw(chart);
  }
  return charts;
}

}  // namespace

Html curve_section(const Runs& runs) {
  Chart loss;
  loss.may_be_logarithmic = true;
  Chart accuracy;
  accuracy.unit = Unit::kAccuracy;
  Chart from_zero;
  from_zero.is_from_zero = true;
  const Html charts =
      charts_of(runs, "Loss",
                {{"step", "loss", "training, a batch"},
                 {"epoch", "loss", "training, mean of an epoch"},
                 {"eval", "test_loss", "test"},
                 {"eval", "validation_loss", "validation"}},
                loss) +
      charts_of(runs, "Accuracy",
                {{"step", "accuracy", "training, a batch"},
                 {"epoch", "accuracy", "training, mean of an epoch"},
                 {"eval", "test_accuracy", "test"},
                 {"eval", "validation_accuracy", "validation"}},
                accuracy) +
      charts_of(runs, "Images per second", {{"step", "images_per_second", "whole job"}},
                from_zero) +
      charts_of(runs, "Learning rate", {{"step", "lr", "learning rate"}}, from_zero) +
      charts_of(runs, "Norm of the gradient", {{"step", "grad_norm", "before it is limited"}},
                loss);
  if (charts.empty()) {
    return section("Curves", element("p", Html("metrics.jsonl has no numbers yet.")));
  }
  return section("Curves", element("div", {{"class", "charts"}}, charts));
}

}  // namespace tandem::report
