// Names in messages. Lists end after a few names, because a job may have thousands of ranks.
#pragma once

#include <string>
#include <vector>

namespace tandem {

// "n0, n1", "n0, n1, … n7 and 92 more"
std::string list_some(std::vector<std::string> names);

// "rank 2", "ranks 0-3, 6", "ranks 0, 2, … 14 and 504 more"; of ascending numbers.
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace tandem
