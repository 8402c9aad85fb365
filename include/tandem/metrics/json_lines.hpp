// Writes metrics.jsonl and the file of each rank, one JSON object per line (docs/formats.md). One
// thread at a time, besides sync(). The constructor throws CannotCreateError, supersede_after()
// IoError; a line that cannot be written later is dropped with a warning.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/sink.hpp"
#include "tandem/metrics/superseded.hpp"

namespace tandem::metrics {

class JsonLinesSink final : public Sink {
 public:
  // Appends to `path` and to one file per rank, creating them if necessary. With many ranks only
  // the files of the first ones stay open. `warn` is called once, at the first failure.
  JsonLinesSink(const std::string& path, std::vector<std::string> rank_paths, Warn warn);

  // Moves the end of a file of any size to `name` below `aside`: everything from the first step,
  // epoch or eval line that a run resumed from `point` writes again. A partial last line moves,
  // too. The file is then replaced by its remaining lines, once the moved end is durable.
  static void supersede_after(const std::string& path, const ResumePoint& point, Superseded& aside,
                              const std::string& name);

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;
  void sync() override;

 private:
  struct Output {
    std::string path;
    std::optional<File> file;  // absent: opened for each line
  };
  // Each line is one write, so that a reader of a running run never sees half a line. A line that
  // cannot be written is dropped: metrics must not end training.
  void write(Output& output, const Json& line);
  // Warns once if a call fails.
  void warn_of_failure(const std::function<void()>& call);

  const Warn warn_;
  Output all_;
  std::vector<Output> ranks_;
  std::atomic<bool> has_warned_{false};
  std::atomic<bool> names_are_durable_{false};  // of the files
};

}  // namespace tandem::metrics
