// What: metrics.jsonl and the same of each rank, one JSON object a line (docs/formats.md).
// Owns: the open files. Threads: one at a time. Throws: CannotCreateError from the constructor,
// IoError from drop_after(); a line that cannot be written later is left out with a warning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/metrics/sink.hpp"

namespace tandem::metrics {

class JsonLinesSink final : public Sink {
 public:
  // Adds to `path`, and to one file for each rank; they are made where they do not exist. Of many
  // ranks the files of the first stay open.
  JsonLinesSink(const std::string& path, std::vector<std::string> rank_paths);

  // Cuts a file of any size before the first line of a step after `step`, which a resumed run
  // writes again, and before half a line at its end.
  static void drop_after(const std::string& path, std::uint64_t step);

  void on_step(const StepRecord& record) override;
  void on_epoch(const EpochRecord& record) override;
  void on_evaluation(const EvaluationRecord& record) override;
  void on_note(const NoteRecord& record) override;

 private:
  struct Output {
    std::string path;
    std::optional<File> file;  // absent: opened for each line
  };
  // Each line is one write, so that a reader never sees half a line of a living run. One that
  // cannot be written is left out: metrics are not worth the end of training.
  void write(Output& output, const Json& line);

  Output all_;
  std::vector<Output> ranks_;
  bool has_warned_ = false;
};

}  // namespace tandem::metrics
