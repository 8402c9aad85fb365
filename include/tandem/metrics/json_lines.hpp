// What: metrics.jsonl, one JSON object a line (docs/formats.md).
// Owns: the open file. Threads: one at a time. Throws: CannotCreateError, IoError.
#pragma once

#include <string>

#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

class JsonLinesSink final : public Sink {
 public:
  // Adds to `path`, which is made where it does not exist.
  explicit JsonLinesSink(const std::string& path);

  // Rewrites the file through a temporary one: without half a line at its end, and without lines of
  // steps after `step`, which a resumed run writes again.
  static void drop_after(const std::string& path, std::uint64_t step);

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;

 private:
  // Each line is one write, so that a reader never sees half a line of a living run.
  void write(const Json& line);

  File file_;
};

}  // namespace tandem::metrics
