// checkpoints/superseded-N: the files that a resumed run replaces, one folder for each start that
// moves any (docs/formats.md). Nothing is removed, and each move is durable on return. One thread
// at a time, on rank 0. Throws: IoError, CannotCreateError.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::metrics {

// What a resumed run keeps: everything up to `step`, but not its evaluation if that is due again.
struct ResumePoint {
  std::uint64_t step = 0;
  bool evaluation_due = false;
};

class Superseded {
 public:
  // `checkpoints`: the run's folder of that name, created at the first move if it is missing.
  explicit Superseded(std::string checkpoints);

  // The path for `name`, which is relative to the run folder: "ranks/rank-0000.jsonl". Creates its
  // parent folders durably.
  std::string place_of(const std::string& name);
  // Moves a file there, or all files of a folder; the folder itself stays.
  void move(const std::string& path, const std::string& name);

 private:
  const std::string checkpoints_;
  std::string folder_;  // empty: nothing was moved yet
};

}  // namespace tandem::metrics
