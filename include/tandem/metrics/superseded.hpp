// Where a run that goes on puts what it no longer counts: checkpoints/superseded-N, one folder for
// each start that has something to put there (docs/formats.md). Nothing is removed, and each move
// is durable when it returns. One thread at a time, on rank 0. Throws: IoError, CannotCreateError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem::metrics {

// What a run that goes on keeps: all up to `step`, without its evaluation where that is due again.
struct ResumePoint {
  std::uint64_t step = 0;
  bool evaluation_due = false;
};

class Superseded {
 public:
  // `checkpoints`: that folder of the run. It is made where it is missing, when something is moved.
  explicit Superseded(std::string checkpoints);

  // The path for `name`, relative to the run folder, such as "ranks/rank-0000.jsonl". The folders
  // above it are there and durable.
  std::string place_of(const std::string& name);
  // Moves a file there. Of a folder: all that it holds; the folder itself stays.
  void move(const std::string& path, const std::string& name);
  // Files that were moved.
  std::size_t count() const { return count_; }

 private:
  const std::string checkpoints_;
  std::string folder_;  // empty: none has been needed
  std::size_t count_ = 0;
};

}  // namespace tandem::metrics
