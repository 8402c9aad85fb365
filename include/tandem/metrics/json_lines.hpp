// What: metrics.jsonl and the same of each rank, one JSON object a line (docs/formats.md).
// Owns: the open file. Threads: one at a time. Throws: CannotCreateError;
// IoError from drop_after().
#pragma once

#include <string>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

class JsonLinesSink final : public Sink {
 public:
  // Adds to `path`, and to one file for each rank; they are made where they do not exist.
  JsonLinesSink(const std::string& path, std::vector<std::string> rank_paths);

  // Rewrites a file through a temporary one: without half a line at its end, and without lines of
  // steps after `step`, which a resumed run writes again.
  static void drop_after(const std::string& path, std::uint64_t step);

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;

 private:
  // Each line is one write, so that a reader never sees half a line of a living run. Where the disk
  // is full it is left out: metrics are not worth the end of training.
  void write(File& file, const Json& line);

  File file_;
  const std::vector<std::string> rank_paths_;
  bool has_warned_ = false;
};

}  // namespace tandem::metrics
