// The folder checkpoints/ of a run: which files are checkpoints, in which order, what is kept, what
// is whole. One thread at a time, on rank 0. Throws: DataError (a damaged checkpoint), IoError (a
// read that failed proves no damage), CannotCreateError.
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

namespace tandem::train {

class CheckpointStore {
 public:
  struct Keep {
    std::uint64_t last = 3;   // newest ones, at least 1
    std::uint64_t every = 0;  // and all whose step is a multiple of this; 0: none
  };
  struct Newest {
    std::optional<Checkpoint> checkpoint;  // absent: none is whole
    std::string path;
    std::vector<std::string> refused;  // why those before it were not taken
  };

  // `touch` is called by whatever reads or writes whole files, on its thread, as it advances.
  explicit CheckpointStore(std::string folder, Touch touch = {});

  std::string path_of(std::uint64_t step) const;
  std::string best_path() const;
  // Every checkpoint, newest first; of equal steps path_of() comes first, best.safetensors last.
  // Files without a step come at the end.
  std::vector<CheckpointFile> files() const;
  // Those that path_of() names, newest first.
  std::vector<std::uint64_t> steps() const;
  // The newest that is whole. A file that goes away meanwhile makes it look again.
  Newest newest_whole() const;
  // Whether a folder superseded-N holds a checkpoint.
  bool has_superseded() const;
  // Removes what a killed process left half written.
  void sweep() const;
  // Durable and read back before older ones go. Throws where the checkpoint itself is not durable;
  // returns what else went wrong: with best.safetensors, `latest` or an older one. Until
  // best.safetensors can be made, the checkpoint that it is to name stays, and the next call tries
  // again, as does name_best().
  std::vector<std::string> write(const Checkpoint& checkpoint, Keep keep);
  // Makes best.safetensors if that is still to be done; why it could not be done, or nothing.
  std::string name_best();
  // Of the evaluation of best.safetensors; nothing where there is none that is whole.
  std::optional<double> best_accuracy() const;
  // Before a run goes on from `path`, which is whole and of `step`: gives it the name
  // path_of(step), and only then moves every later checkpoint aside, the best too. best.safetensors
  // is then the last one up to `step` that was the best. Can be repeated from any moment at which
  // it was ended.
  void go_on_from(const std::string& path, std::uint64_t step, metrics::Superseded& aside) const;

 private:
  void rotate(Keep keep, std::uint64_t written) const;
  void restore_best(std::uint64_t step) const;
  std::optional<Checkpoint> read_best() const;  // if it is whole

  std::string folder_;
  Touch touch_;
  std::optional<std::uint64_t> best_due_;  // what best.safetensors is to name
};

}  // namespace tandem::train
