// The command lines that a run prints for its user to paste. Thread-safe if nobody changes the
// environment.
#pragma once

#include <string>

#include "options.hpp"

namespace tandem::app {

// "tandem", as this process was started, behind "mpirun -np 2" or "srun -n 2" if a launcher started
// it or it has several ranks. A launcher's own options are not known here.
std::string program_words(int ranks);

// The command that goes on with a run: `program`, then the words that `tandem train` was started
// with, quoted for a shell, then `--resume auto` instead of another --resume. Names the run if the
// words don't. `runs_dir`: the folder of the run's folder.
std::string resume_command(const std::string& program, Arguments words, const std::string& run_id,
                           const std::string& runs_dir);

// The command that begins another run with the same words and with the weights in `checkpoint`.
std::string new_run_command(const std::string& program, Arguments words,
                            const std::string& checkpoint);

}  // namespace tandem::app
