// What: keeps a second run out of a run folder: an open-file-description lock on its run.lock,
// which the kernel drops with the process. Owns: the open file; it is never deleted, because a file
// that comes and goes can be locked twice. Threads: one at a time, on rank 0. Throws:
// CannotCreateError where another process holds it.
#pragma once

#include <string>

#include "tandem/core/file.hpp"

namespace tandem::metrics {

class RunLock {
 public:
  // `folder` exists.
  explicit RunLock(const std::string& folder);

  // Whether somebody holds the lock of `folder`, as far as its file system tells. Leaves nothing.
  static bool is_held(const std::string& folder);

  // Why the folder is not locked after all: its file system has no locks. Empty: it is.
  const std::string& warning() const { return warning_; }

 private:
  File file_;
  std::string warning_;
};

}  // namespace tandem::metrics
