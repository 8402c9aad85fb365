// The messages of the all-reduce of more than 64 ranks, simulated without MPI.
#include "allreduce/circulant_rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <string>
#include <vector>

#include "support/circulant_simulation.hpp"

namespace tandem::comm {
namespace {

constexpr int kMaxRanks = 200;
constexpr std::size_t kFloats = 26'000'000 / sizeof(float);

// The ranks whose values a sum holds.
struct Summands {
  std::bitset<kMaxRanks> ranks;
  bool is_twice = false;  // one of them was added twice
  Summands& operator+=(const Summands& other) {
    is_twice = is_twice || other.is_twice || (ranks & other.ranks).any();
    ranks |= other.ranks;
    return *this;
  }
};

std::size_t fewest_rounds(int ranks) {
  std::size_t rounds = 0;
  for (int reached = 1; reached < ranks; reached *= 2) ++rounds;
  return rounds;
}

std::size_t floats_of(const ChunkPartition& chunks, const std::array<ChunkRange, 2>& ranges) {
  return chunks.size(ranges[0]) + chunks.size(ranges[1]);
}

TEST(CirculantRounds, AddEachValueOnceOnAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    SCOPED_TRACE(ranks);
    const auto many = static_cast<std::size_t>(ranks);
    std::vector<std::vector<Summands>> values(many, std::vector<Summands>(many));
    for (std::size_t rank = 0; rank < many; ++rank) {
      for (Summands& each : values[rank]) each.ranks.set(rank);
    }
    testing::simulate_circulant(values, [](int chunk) { return static_cast<std::size_t>(chunk); });
    if (HasFatalFailure()) return;
    for (const auto& of_rank : values) {
      for (const Summands& sum : of_rank) {
        ASSERT_FALSE(sum.is_twice);
        ASSERT_EQ(sum.ranks.count(), many);
      }
    }
  }
}

TEST(CirculantRounds, CompleteAChunkOnItsRankAndTouchNoneTwice) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    std::vector<bool> is_owned(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE(std::to_string(rank) + " of " + std::to_string(ranks));
      std::vector<bool> has_left(static_cast<std::size_t>(ranks));
      for (const CirculantRound& round : circulant_rounds(rank, ranks)) {
        if (!round.adds) break;
        for (const ChunkRange& sent : round.sent) {
          for (int chunk = sent.first; chunk < sent.first + sent.count; ++chunk) {
            ASSERT_FALSE(has_left.at(static_cast<std::size_t>(chunk)));
            has_left[static_cast<std::size_t>(chunk)] = true;
          }
        }
        for (const ChunkRange& received : round.received) {
          for (int chunk = received.first; chunk < received.first + received.count; ++chunk) {
            ASSERT_FALSE(has_left.at(static_cast<std::size_t>(chunk)));
          }
        }
      }
      const auto own = static_cast<std::size_t>(circulant_chunk(rank, ranks));
      ASSERT_EQ(std::count(has_left.begin(), has_left.end(), false), 1);
      ASSERT_FALSE(has_left[own]);
      ASSERT_FALSE(is_owned[own]);
      is_owned[own] = true;
    }
  }
}

TEST(CirculantRounds, AreAboutTheFewest) {
  for (int ranks = 2; ranks <= 4096; ++ranks) {
    const std::size_t rounds = circulant_rounds(ranks - 1, ranks).size();
    ASSERT_GE(rounds, 2 * fewest_rounds(ranks));
    ASSERT_LE(7 * rounds, 9 * 2 * fewest_rounds(ranks)) << ranks;
  }
  for (const int ranks : {96, 97, 127, 128, 192, 4096}) {
    EXPECT_EQ(circulant_rounds(0, ranks).size(), 2 * fewest_rounds(ranks)) << ranks;
  }
}

TEST(CirculantRounds, SendTheLeastOf26MB) {
  for (const int ranks : {65, 96, 97, 100, 128, 192}) {
    const ChunkPartition chunks(kFloats, ranks);
    const double least = 2.0 * kFloats * (ranks - 1) / ranks;
    std::size_t sent = 0;
    std::size_t received = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      std::size_t sent_here = 0;
      std::size_t received_here = 0;
      for (const CirculantRound& round : circulant_rounds(rank, ranks)) {
        sent_here += floats_of(chunks, round.sent);
        received_here += floats_of(chunks, round.received);
      }
      sent = std::max(sent, sent_here);
      received = std::max(received, received_here);
    }
    EXPECT_LT(static_cast<double>(sent), 1.001 * least) << ranks;
    EXPECT_LT(static_cast<double>(received), 1.001 * least) << ranks;
  }
}

// The floats that the ranks of the busiest host send to other hosts.
double sent_by_a_host(int hosts, int ranks_per_host) {
  const int ranks = hosts * ranks_per_host;
  const ChunkPartition chunks(kFloats, ranks);
  std::vector<double> sent(static_cast<std::size_t>(hosts));
  for (int rank = 0; rank < ranks; ++rank) {
    const int host = rank / ranks_per_host;
    for (const CirculantRound& round : circulant_rounds(rank, ranks)) {
      if (round.to / ranks_per_host == host) continue;
      sent[static_cast<std::size_t>(host)] += static_cast<double>(floats_of(chunks, round.sent));
    }
  }
  return *std::max_element(sent.begin(), sent.end());
}

// If the prime factors of a host's ranks come first, its ranks together send the minimum. With
// other numbers they send several times that, and more the larger the prime factors are.
TEST(CirculantRounds, KeepMostBytesWithinHosts) {
  const auto beside_least = [](int hosts, int ranks_per_host) {
    return sent_by_a_host(hosts, ranks_per_host) / (2.0 * kFloats * (hosts - 1) / hosts);
  };
  for (const auto& [hosts, ranks] : {std::pair{8, 16}, {3, 32}, {64, 64}, {5, 64}}) {
    EXPECT_LT(beside_least(hosts, ranks), 1.01) << hosts << " x " << ranks;
  }
  for (const auto& [hosts, ranks] : {std::pair{4, 24}, {2, 48}, {2, 56}, {16, 56}}) {
    EXPECT_LT(beside_least(hosts, ranks), 5.1) << hosts << " x " << ranks;
  }
}

}  // namespace
}  // namespace tandem::comm
