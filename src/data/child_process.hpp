// What: runs work that may crash, hang or exhaust memory in a process of its own. Owns: that
// process, until it has ended. Threads: call it while there are no others (it forks).
// Throws: the Error that the work threw; DataError where the process died or was late; IoError.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tandem::data {

// The child writes nothing to the terminal, runs no exit handlers, may map 2 GiB more than its
// parent and is killed after `limit`. `path`, the file that the work parses, begins the messages.
void run_in_child(const std::string& path, std::chrono::milliseconds limit,
                  const std::function<void()>& work);

}  // namespace tandem::data
