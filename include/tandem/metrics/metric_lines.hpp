// What: metrics.jsonl or ranks/rank-NNNN.jsonl as it is read back, also while a run writes it: the
// numbers of each event by field. Owns: values, as many of them for a file of any length. Threads:
// any. Throws: MissingInputError, IoError where the file cannot be read; a line that is none of
// ours is counted and left out.
//
// Fields and events that this version does not know are kept as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tandem/metrics/sample_series.hpp"

namespace tandem::metrics {

// All lines of one event.
struct EventLines {
  double last_step = 0;
  double last_epoch = std::numeric_limits<double>::quiet_NaN();
  double steps = 0;                            // that its lines speak of
  std::map<std::string, SampleSeries> fields;  // a line that lacks one has no sample of it
};

struct Note {
  std::string event;
  double step = 0;
  double time = 0;
  std::string text;
};

struct MetricLines {
  std::map<std::string, EventLines> events;
  std::vector<Note> notes;          // the last of them: a run may warn at each step
  std::uint64_t earlier_notes = 0;  // that are not among these
  std::uint64_t refused = 0;        // lines that are no line of ours

  // What `event` says in `field`; an empty one where it does not.
  const SampleSeries& series(const std::string& event, const std::string& field) const;
  const std::vector<Sample>& samples(const std::string& event, const std::string& field) const {
    return series(event, field).samples();
  }
  // The value of the last one; not a number where there is none.
  double last(const std::string& event, const std::string& field) const;
  // Of all events; 0 where there are none.
  double last_step() const;
};

// A line as it passes by: whoever needs each of them keeps what it needs.
struct PassingLine {
  const std::string& event;
  double step;
  double steps;  // that it speaks of: those since the line before it, or since the run was started
  std::function<double(const char* field)> number;  // not a number where there is none
};

struct Reading {
  // Of a large file only the lines that begin in its last bytes.
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  // The steps that were done before each start of the run, lowest first.
  std::vector<double> starts = {};
  std::function<void(const PassingLine&)> see = {};
};

// Half a line at the end is none.
MetricLines read_metric_lines(const std::string& path, const Reading& reading = {});

}  // namespace tandem::metrics
