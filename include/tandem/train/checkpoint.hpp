// A checkpoint: a sealed safetensors file that holds all that a run goes on from (docs/formats.md).
// Any thread. Throws: DataError (a damaged one), MissingInputError, IoError (a read that failed
// proves no damage), CannotCreateError.
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
Checkpoint read_checkpoint(const std::string& path, const Touch& touch = {});

// Durable and read back under `path`, or not there. DataError where read_checkpoint() would refuse
// it.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                      const Touch& touch = {});

// A file that may be a checkpoint, by its name and its header alone: it may be damaged.
struct CheckpointFile {
  std::string path;
  std::optional<std::uint64_t> step;  // by its metadata, else by its name
  bool is_best = false;               // it was the best when it was written
};

CheckpointFile look_at_checkpoint(const std::string& path);
// The step of "step-00001234.safetensors"; nothing for any other name.
std::optional<std::uint64_t> step_of_name(const std::string& name);
// What such a name is made of.
constexpr char kCheckpointPrefix[] = "step-";
constexpr char kCheckpointSuffix[] = ".safetensors";

}  // namespace tandem::train
