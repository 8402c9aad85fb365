// Reads metrics.jsonl or ranks/rank-NNNN.jsonl, also while a run writes it, as numbers of each
// event by field. Memory is bounded for files of any length. Throws MissingInputError, IoError. A
// line that tandem did not write is counted and skipped; fields and events of other versions are
// kept.
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
  std::vector<Note> notes;          // the last of them: a run may warn at each step
  std::uint64_t earlier_notes = 0;  // not among these
  std::uint64_t refused = 0;        // lines that tandem did not write

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
