// The rounds of circulant_rounds.hpp on plain arrays in one process: ranks without MPI.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "allreduce/circulant_rounds.hpp"

namespace tandem::testing {

// Makes all rounds on `values`, one array per rank. `first_of(chunk)` is its first element. A rank
// receives only what another one sends to it in the same round, so no rank waits for a later one.
template <typename Value, typename FirstOf>
void simulate_circulant(std::vector<std::vector<Value>>& values, const FirstOf& first_of) {
  const int ranks = static_cast<int>(values.size());
  std::vector<std::vector<comm::CirculantRound>> rounds;
  for (int rank = 0; rank < ranks; ++rank) rounds.push_back(comm::circulant_rounds(rank, ranks));
  const auto for_each_element = [&](const auto& ranges, const auto& visit) {
    for (const comm::ChunkRange& range : ranges) {
      const auto end = first_of(range.first + range.count);
      for (auto at = first_of(range.first); at < end; ++at) visit(at);
    }
  };
  for (std::size_t number = 0; number < rounds[0].size(); ++number) {
    std::map<std::pair<int, int>, std::vector<Value>> messages;  // by sender and receiver
    for (int rank = 0; rank < ranks; ++rank) {
      const comm::CirculantRound& round = rounds[static_cast<std::size_t>(rank)].at(number);
      auto& message = messages[{rank, round.to}];
      for_each_element(round.sent, [&](std::size_t at) {
        message.push_back(values[static_cast<std::size_t>(rank)][at]);
      });
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const comm::CirculantRound& round = rounds[static_cast<std::size_t>(rank)][number];
      const auto sent = messages.find({round.from, rank});
      ASSERT_NE(sent, messages.end()) << "no message from " << round.from << " to " << rank;
      std::size_t next = 0;
      for_each_element(round.received, [&](std::size_t at) {
        Value& here = values[static_cast<std::size_t>(rank)][at];
        ASSERT_LT(next, sent->second.size());
        const Value& arrived = sent->second[next++];
        if (round.adds) {
          here += arrived;
        } else {
          here = arrived;
        }
      });
      ASSERT_EQ(next, sent->second.size());
    }
  }
}

}  // namespace tandem::testing
