// Reads metrics.jsonl or ranks/rank-NNNN.jsonl, also while a run writes it, as numbers of each
// event by field. Memory is bounded for files of any length. Throws MissingInputError, IoError. A
// line that tandem did not write is counted and skipped; fields and events of other versions are
// kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace tandem::metrics {

// Reduces many points to few without losing their peaks: keeps the lowest and the highest
// `value_of` of each group of neighbors, and the first and the last point of all, in order. A group
// without a finite value keeps its first point.
template <typename Point, typename GroupOf, typename ValueOf>
std::vector<Point> keep_extremes(const std::vector<Point>& points, GroupOf group_of,
                                 ValueOf value_of) {
  std::vector<Point> kept;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const auto group = group_of(points[begin]);
    std::size_t lowest = points.size();
    std::size_t highest = points.size();
    for (end = begin; end < points.size() && group_of(points[end]) == group; ++end) {
      const double value = value_of(points[end]);
      if (!std::isfinite(value)) continue;
      if (lowest == points.size() || value < value_of(points[lowest])) lowest = end;
      if (highest == points.size() || value > value_of(points[highest])) highest = end;
    }
    if (lowest == points.size()) lowest = highest = begin;  // nothing but a gap
    std::vector<std::size_t> places{lowest, highest};
    if (begin == 0) places.push_back(0);
    if (end == points.size()) places.push_back(end - 1);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::size_t at : places) kept.push_back(points[at]);
  }
  return kept;
}

struct Sample {
  double step;
  double epoch;                                            // NaN if its line has none
  double value;                                            // NaN for null in the file
  double time = std::numeric_limits<double>::quiet_NaN();  // Unix seconds; NaN if absent
};

// A field over the steps of a file of any length: sums of all samples, and a bounded number of
// samples for a drawing. One thread at a time.
class SampleSeries {
 public:
  // Above this number samples are thinned repeatedly: of each of equally long ranges of steps the
  // lowest and the highest value stay, and the first and the last sample of all.
  static constexpr std::size_t kMax = std::size_t{1} << 15;

  // `steps`: the number that the sample covers.
  void add(const Sample& sample, double steps);

  const std::vector<Sample>& samples() const { return samples_; }
  // The mean of all finite values, thinned ones included; NaN if there are none.
  double mean() const { return sum_ / count_; }
  double mean_per_step() const { return weighted_sum_ / weight_; }
  double highest() const { return highest_; }
  double sum() const { return sum_; }

 private:
  void thin();

  std::vector<Sample> samples_;
  double stretch_ = 1;  // steps
  double count_ = 0;
  double sum_ = 0;
  double weight_ = 0;
  double weighted_sum_ = 0;
  double highest_ = std::numeric_limits<double>::quiet_NaN();
};

// All lines of one event.
struct EventLines {
  double last_step = 0;
  double last_epoch = std::numeric_limits<double>::quiet_NaN();
  double steps = 0;                            // covered by its lines
  std::map<std::string, SampleSeries> fields;  // a line without the field has no sample
};

struct Note {
  std::string event;
  double step = 0;
  double time = 0;
  std::string text;
};

struct MetricLines {
  std::map<std::string, EventLines> events;
  std::deque<Note> notes;           // the last of them: a run may warn at each step
  std::uint64_t earlier_notes = 0;  // not among these
  std::uint64_t refused = 0;        // lines that tandem did not write

  // Without lines if there are none.
  const EventLines& event(const std::string& name) const;
  // The series of `field` of `event`; empty if there is none.
  const SampleSeries& series(const std::string& event, const std::string& field) const;
  const std::vector<Sample>& samples(const std::string& event, const std::string& field) const {
    return series(event, field).samples();
  }
  // The last value; NaN if there is none.
  double last(const std::string& event, const std::string& field) const;
  // The last step of all events; 0 if there are none.
  double last_step() const;
};

// A line during reading, for callers that process each line.
struct PassingLine {
  const std::string& event;
  double step;
  double steps;  // that it covers: since the previous line, or since the start of the run
  std::function<double(const char* field)> number;  // NaN if absent
};

struct Reading {
  // Reads only lines that begin in this many last bytes of a large file.
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  // The steps done before each start of the run, lowest first.
  std::vector<double> starts = {};
  std::function<void(const PassingLine&)> see = {};
};

// Ignores an incomplete last line.
MetricLines read_metric_lines(const std::string& path, const Reading& reading = {});

}  // namespace tandem::metrics
