// Ends a job whose ranks do not connect. Throws std::system_error if no thread can be started.
#pragma once

#include "tandem/comm/deadline.hpp"
#include "tandem/comm/watchdog.hpp"

namespace tandem::app {

// Guards the time from before MPI_Init until the Supervision exists. If it takes longer than the
// limit, ends the process with 124 and names a stopped rank of this host, if there is one.
class StartUpWatch {
 public:
  explicit StartUpWatch(comm::StallLimits limits);

 private:
  comm::Deadline deadline_;
};

}  // namespace tandem::app
