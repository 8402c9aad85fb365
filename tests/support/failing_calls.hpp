// Makes system calls of the test's own process fail while this object lives: those of one name on a
// path that contains a text, from the first one on, a given number of times. For tests of one
// thread.
#pragma once

#include <string>

namespace tandem::testing {

class FailingCalls {
 public:
  // `call`: open, read, write, sync_file_range, link, rename, unlink, fsync, fdatasync, close,
  // mkdir, stat or pthread_create. Of two paths the new one counts; pthread_create has an empty
  // one.
  FailingCalls(std::string call, std::string part_of_path, int error, int times = 1'000'000);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  // Number of calls that have failed.
  int count() const;
};

// One such call fails, after `skipped` calls that do not.
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

  // Index, from 0, of the first call of this name whose path contains the text; -1: none.
  int first(const std::string& call, const std::string& part_of_path) const;
  // The last one, likewise.
  int last(const std::string& call, const std::string& part_of_path) const;
};

}  // namespace tandem::testing
