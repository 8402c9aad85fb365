// The ranks that --log-ranks selects. Throws UsageError.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::app {

class RankChoice {
 public:
  RankChoice() = default;
  // "0": rank 0 prints for all; "all"; or a list such as "0,2,4-7".
  static RankChoice parse(const std::string& text);

  // The selected ranks of a job of `world` ranks, in order, without duplicates; UsageError for a
  // rank that the job does not have.
  std::vector<int> among(int world) const;

 private:
  bool is_all_ = false;
  std::vector<std::pair<int, int>> ranges_;  // first and last
};

}  // namespace tandem::app
