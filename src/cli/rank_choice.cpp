#include "rank_choice.hpp"

#include <set>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr int kHighestRank = 999'999;

int read_rank(const std::string& number, const std::string& text) {
  try {
    return static_cast<int>(parse_integer(number, 0, kHighestRank, "rank"));
  } catch (const UsageError&) {
    throw UsageError("--log-ranks: '" + text +
                     "' is not 0, all, or a list of ranks such as 0,2,4-7");
  }
}

}  // namespace

RankChoice RankChoice::parse(const std::string& text) {
  RankChoice choice;
  choice.is_all_ = text == "all";
  if (choice.is_all_ || text == "0") return choice;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const int first = read_rank(part.substr(0, dash), text);
    const int last = dash == std::string::npos ? first : read_rank(part.substr(dash + 1), text);
    if (last < first) {
      throw UsageError("--log-ranks: " + part + " ends before it begins; write " +
                       std::to_string(last) + "-" + std::to_string(first));
    }
    choice.ranges_.emplace_back(first, last);
  }
  return choice;
}

std::vector<int> RankChoice::among(int world) const {
  std::set<int> ranks;
  for (int rank = 0; is_all_ && rank < world; ++rank) ranks.insert(rank);
  for (const auto& [first, last] : ranges_) {
    if (last >= world) {
      throw UsageError("--log-ranks: rank " + std::to_string(last) +
                       " is asked for, and the job's " + "ranks are 0 to " +
                       std::to_string(world - 1) + "; see mpirun -np");
    }
    for (int rank = first; rank <= last; ++rank) ranks.insert(rank);
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace tandem::app
