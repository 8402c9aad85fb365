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
  // The file must not exist yet.
  explicit JsonLinesSink(const std::string& path);

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;

 private:
  // Each line is one write, so that a reader never sees half a line of a living run.
  void write(const Json& line);

  File file_;
};

}  // namespace tandem::metrics
