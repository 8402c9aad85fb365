// What: parses a file that nothing vouches for where a crash, a hang or a flood of memory harms
// nobody. Owns: the child process, until it has ended. Threads: call it before others exist (it
// forks) and before MPI_Init where that is possible; the child calls neither MPI nor CUDA, nor exit
// handlers.
// Throws: what opening the file throws in the child; DataError where the child dies or is late.
#pragma once

#include <chrono>
#include <string>

namespace tandem::data {

// Opens the packed file in a child process that may take `limit` and 2 GiB of memory. Returns at
// once for a file with a user block, which PackedFile proves before it is parsed.
void probe_in_child(const std::string& path, std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace tandem::data
