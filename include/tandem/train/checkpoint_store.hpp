// The folder checkpoints/ of a run: which files are checkpoints, their order, which are kept, and
// which are valid. One thread at a time, on rank 0. Throws: DataError (a damaged checkpoint),
// IoError (a read failed, so the file may be valid), CannotCreateError.
//
// The step in a checkpoint's metadata counts, not its name. `latest` holds the name of the newest
// one, for people; nothing here reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/metrics/superseded.hpp"
#include "tandem/train/checkpoint.hpp"
#include "tandem/train/checkpoint_rules.hpp"

namespace tandem::train {

class CheckpointStore {
 public:
  struct Newest {
    std::optional<Checkpoint> checkpoint;  // absent: none is valid
    std::string path;
    std::vector<std::string> refused;  // why newer ones were not taken
  };

  // `touch` is called as files are read and written, on the calling thread.
  explicit CheckpointStore(std::string folder, Touch touch = {});

  std::string path_of(std::uint64_t step) const;
  std::string best_path() const;
  // Every checkpoint, newest first; of equal steps path_of() comes first, best.safetensors last.
  // Files without a step come at the end.
  std::vector<CheckpointFile> files() const;
  // The steps with a file path_of(step), newest first.
  std::vector<std::uint64_t> steps() const;
  // The newest valid one. If a file disappears meanwhile, the search starts again.
  Newest newest_whole() const;
  // Whether a folder superseded-N holds a checkpoint.
  bool has_superseded() const;
  // Removes the temporary files of killed processes.
  void sweep() const;
  // Makes the checkpoint durable and reads it back before it removes older ones. Throws if the
  // checkpoint itself is not durable. Returns other failures: of best.safetensors, `latest` or the
  // removal of an older one. If best.safetensors cannot be made, its checkpoint is kept, and the
  // next write() or name_best() tries again.
  std::vector<std::string> write(const Checkpoint& checkpoint, KeepRules keep);
  // Makes best.safetensors if that is still due. Returns why it failed, or "".
  std::string name_best();
  // The score() in best.safetensors; absent if there is no valid one.
  std::optional<double> best_accuracy() const;
  // Call it before a run resumes from `path`, a valid checkpoint of `step`. Gives it the name
  // path_of(step), and only then moves every later checkpoint aside, the best included.
  // best.safetensors then names the last best one up to `step`. If the process ends at any moment,
  // the call can be repeated.
  void go_on_from(const std::string& path, std::uint64_t step, metrics::Superseded& aside) const;

 private:
  void rotate(KeepRules keep, std::uint64_t written) const;
  void restore_best(std::uint64_t step) const;
  void write_latest(const std::string& path) const;
  std::optional<Checkpoint> read_best() const;  // if it is valid

  std::string folder_;
  Touch touch_;
  std::optional<std::uint64_t> best_due_;  // step of the checkpoint to become best.safetensors
};

}  // namespace tandem::train
