// What: what a process must do before anything else. Owns: nothing. Threads: the only one.
// Throws: nothing.
#pragma once

namespace tandem {

// Opens standard input, output and error where they are closed, so that no file or connection gets
// their numbers and the lines that go there; reading and writing them fails as before. Has writes
// to a pipe without a reader, and beyond a limit of files' sizes, fail rather than end the process.
// Allows as many open files as the system grants, up to 65,536: a rank has connections to others.
void prepare_process();

}  // namespace tandem
