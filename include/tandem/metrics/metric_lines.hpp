// What: metrics.jsonl or ranks/rank-NNNN.jsonl as it is read back, also while a run writes it: the
// numbers of each event by field. Owns: values. Threads: any. Throws: MissingInputError, IoError
// where the file cannot be read; a line that is none of ours is counted and left out.
//
// Fields and events that this version does not know are kept as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace tandem::metrics {

struct Sample {
  std::size_t line;  // of its event
  double value;      // not a number where the file says null
};

// All lines of one event, in the order of the file.
struct EventLines {
  std::vector<double> step;
  std::vector<double> epoch;                          // not a number where a line has none
  std::vector<double> time;                           // likewise
  std::map<std::string, std::vector<Sample>> fields;  // a line that lacks one has no sample of it
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

  // The samples of `event` in `field`; nothing where there are none.
  const std::vector<Sample>& samples(const std::string& event, const std::string& field) const;
  // The value of the last one; not a number where there is none.
  double last(const std::string& event, const std::string& field) const;
  // Of all events; 0 where there are none.
  double last_step() const;
};

// Of a large file only the lines that begin in its last `most_bytes`. Half a line at the end is
// none.
MetricLines read_metric_lines(const std::string& path,
                              std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

}  // namespace tandem::metrics
