// Runs a command line of the program: finds the command, and turns the errors that it throws into
// a message and the exit code that is returned. Main thread. Does not throw.
#pragma once

#include "commands.hpp"
#include "tandem/comm/runtime.hpp"

namespace tandem::app {

// `arguments`: without the program's name. Starts and ends MPI if the command needs it, so a
// process can call this once.
int run(const Arguments& arguments);

// Collective, in a process that has started MPI. May be called again for the next command. As in
// run(), an error that only one of several ranks finds ends the job.
int run(const Arguments& arguments, const comm::Runtime& runtime);

}  // namespace tandem::app
