// What: the folder checkpoints/ of a run: names, order, what is kept, what is valid.
// Owns: nothing but names. Threads: one at a time, on rank 0. Throws: DataError (a damaged
// checkpoint), IoError, CannotCreateError.
//
// A checkpoint is a sealed safetensors file (docs/formats.md) named after its step. `latest` holds
// the name of the newest one, for people; nothing here believes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/model/safetensors.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::train {

// "format" in the metadata of a checkpoint.
constexpr char kCheckpointFormat[] = "tandem-checkpoint";

struct Checkpoint {
  std::vector<model::NamedTensor> tensors;      // train/snapshot.hpp
  std::map<std::string, std::string> metadata;  // of the run, beside what is in `state`
  TrainingState state;
  bool is_best = false;  // it was the best when it was written
};

// Reads and proves a checkpoint: its digest, that its values are finite, its state.
Checkpoint read_checkpoint(const std::string& path);

class CheckpointStore {
 public:
  struct Keep {
    std::uint64_t last = 3;   // newest ones, at least 1
    std::uint64_t every = 0;  // and all whose step is a multiple of this; 0: none
  };

  explicit CheckpointStore(std::string folder);

  std::string path_of(std::uint64_t step) const;
  std::string best_path() const;
  // Newest first.
  std::vector<std::uint64_t> steps() const;
  // Removes what a killed process left half written.
  void sweep() const;
  // Durable and read back before older ones go.
  void write(const Checkpoint& checkpoint, Keep keep) const;
  // Makes it best.safetensors if it is the best, also where the process that wrote it died before.
  void keep_if_best(const Checkpoint& checkpoint) const;
  // Of the evaluation of best.safetensors; nothing where there is none that is whole.
  std::optional<double> best_accuracy() const;
  // Moves every checkpoint after `step`, the best too, to superseded-N/; returns how many files.
  std::size_t supersede_after(std::uint64_t step) const;

 private:
  void rotate(Keep keep) const;
  std::optional<Checkpoint> read_best() const;  // if it is whole

  std::string folder_;
};

}  // namespace tandem::train
