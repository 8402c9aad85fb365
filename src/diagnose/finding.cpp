#include "finding.hpp"

#include <algorithm>

#include "tandem/core/text.hpp"

namespace tandem::app {

std::string name_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMaxNamed = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i) {
    names.push_back(std::to_string(ranks[i]));
  }
  std::string text = (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
  if (ranks.size() > kMaxNamed) {
    text += " and " + std::to_string(ranks.size() - kMaxNamed) + " more";
  }
  return text;
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
