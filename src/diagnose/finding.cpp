#include "finding.hpp"

#include <algorithm>

namespace tandem::app {

const RankFacts& facts_of(const std::vector<RankFacts>& facts, int rank) {
  return facts[static_cast<std::size_t>(rank)];
}

std::vector<int> ranks_where(const std::vector<RankFacts>& facts,
                             const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> ranks;
  for (const RankFacts& each : facts) {
    if (holds(each)) ranks.push_back(each.rank);
  }
  return ranks;
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.is_error(); });
}

Json to_json(const Finding& finding) {
  return {{"code", finding.code},  {"severity", finding.is_error() ? "error" : "warning"},
          {"what", finding.what},  {"fix", finding.fix},
          {"cure", finding.fix},  // the earlier name
          {"ranks", finding.ranks}};
}

}  // namespace tandem::app
