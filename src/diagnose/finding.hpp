// One fault with its code and its fix.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor_facts.hpp"
#include "tandem/core/json.hpp"

namespace tandem::app {

struct Finding {
  std::string code;  // "E…" is an error, "W…" a warning
  std::string what;
  std::string fix;
  std::vector<int> ranks;  // which it is about

  bool is_error() const { return code.front() == 'E'; }
  // "W150 …; FIX", or a line of its own for a fix of several lines
  std::string text() const {
    const bool is_long = fix.find('\n') != std::string::npos;
    return code + " " + what + (is_long ? "\n  fix: " : "; ") + fix;
  }
  // "W150 …\n     fix: FIX"
  std::string lines() const { return code + " " + what + "\n     fix: " + fix; }
};

bool has_error(const std::vector<Finding>& findings);
// As `doctor --json` shows it.
Json to_json(const Finding& finding);

// `facts`: of all ranks, in their order.
const RankFacts& facts_of(const std::vector<RankFacts>& facts, int rank);
std::vector<int> ranks_where(const std::vector<RankFacts>& facts,
                             const std::function<bool(const RankFacts&)>& holds);

}  // namespace tandem::app
