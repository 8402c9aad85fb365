// System calls of the test's own process that fail while this object lives: those of one name on a
// path that contains a text, from the first one on, for as often as asked. For tests of one thread.
#pragma once

#include <string>

namespace tandem::testing {

class FailingCalls {
 public:
  // `call`: open, read, link, rename, unlink, fsync, fdatasync, close or mkdir. Of two paths the
  // new one counts.
  FailingCalls(std::string call, std::string part_of_path, int error, int times = 1'000'000);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  // How many have failed.
  int count() const;
};

// One such call fails: the one before which `skipped` were made.
class FailOnce {
 public:
  FailOnce(std::string call, std::string part_of_path, int error, int skipped);
  ~FailOnce();
  FailOnce(const FailOnce&) = delete;
  FailOnce& operator=(const FailOnce&) = delete;
};

// The calls "NAME PATH" that were made while this object lives.
class NotedCalls {
 public:
  NotedCalls();
  ~NotedCalls();
  NotedCalls(const NotedCalls&) = delete;
  NotedCalls& operator=(const NotedCalls&) = delete;

  // Which of them, counted from 0, is the first of this name whose path contains the text; -1:
  // none.
  int first(const std::string& call, const std::string& part_of_path) const;
  // The last one, likewise.
  int last(const std::string& call, const std::string& part_of_path) const;
};

}  // namespace tandem::testing
