// The command lines that a run prints for its user to paste. Thread-safe if no thread changes the
// environment.
#pragma once

#include <string>

#include "options.hpp"

namespace tandem::app {

// "tandem" as typed, after "mpirun -np 2" or "srun -n 2" if a launcher started this process or it
// has several ranks. The launcher's own options are missing: a rank cannot read them.
std::string program_words(int ranks);

// The command that resumes a run: `program`, the words of `tandem train` quoted for a shell, and
// `--resume auto` instead of another --resume. Adds --run-id if the words lack it. `runs_dir`: the
// folder of the run's folder.
std::string resume_command(const std::string& program, Arguments words, const std::string& run_id,
                           const std::string& runs_dir);

// The command that begins another run with the same words and with the weights in `checkpoint`.
std::string new_run_command(const std::string& program, Arguments words,
                            const std::string& checkpoint);

}  // namespace tandem::app
