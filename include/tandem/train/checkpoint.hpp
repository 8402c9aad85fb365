// A checkpoint: a sealed safetensors file with everything that a run resumes from
// (docs/formats.md). Any thread. Throws: DataError (damaged), MissingInputError, IoError (a read
// failed, so the file may be valid), CannotCreateError.
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
  std::map<std::string, std::string> metadata;  // of the run, without `state`
  TrainingState state;
  bool is_best = false;  // it was the best when it was written
};

// Reads a checkpoint and checks its digest, that its values are finite, and its state.
Checkpoint read_checkpoint(const std::string& path, const Touch& touch = {});

// On return the file is durable and read back; on an exception there is no new file under `path`.
// DataError if read_checkpoint() would refuse it.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                      const Touch& touch = {});

// A file that looks like a checkpoint by its name and header; its content may be damaged.
struct CheckpointFile {
  std::string path;
  std::optional<std::uint64_t> step;  // by its metadata, else by its name
  bool is_best = false;               // it was the best when it was written
};

CheckpointFile look_at_checkpoint(const std::string& path);
// The step of "step-00001234.safetensors"; absent for any other name.
std::optional<std::uint64_t> step_of_name(const std::string& name);
// The prefix and suffix of such a name.
constexpr char kCheckpointPrefix[] = "step-";
constexpr char kCheckpointSuffix[] = ".safetensors";

}  // namespace tandem::train
