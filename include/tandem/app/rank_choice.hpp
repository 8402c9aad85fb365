// What: the ranks that --log-ranks names.
// Owns: values. Threads: any. Throws: UsageError.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::app {

class RankChoice {
 public:
  RankChoice() = default;
  // "0": none, because rank 0 speaks for all; "all"; or a list such as "0,2,4-7".
  static RankChoice parse(const std::string& text);

  // Of a job of `world` ranks, each once, in order; UsageError for one that it does not have.
  std::vector<int> among(int world) const;

 private:
  bool is_all_ = false;
  std::vector<std::pair<int, int>> ranges_;  // first and last
};

}  // namespace tandem::app
