#include "tandem/core/listing.hpp"

#include "tandem/core/text.hpp"

namespace tandem {
namespace {

constexpr std::size_t kMaxNamed = 8;

std::string and_more(std::size_t count) {
  return count == 0 ? "" : " and " + std::to_string(count) + " more";
}

}  // namespace

std::string list_some(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + and_more(more);
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  while (first < ranks.size() && parts.size() < kMaxNamed) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(std::to_string(ranks[first]) +
                    (last == first ? "" : "-" + std::to_string(ranks[last])));
    first = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(parts, ", ") +
         and_more(ranks.size() - first);
}

}  // namespace tandem
