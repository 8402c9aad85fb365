#include "tandem/metrics/straggler.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/median.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

constexpr double kMilliseconds = 1000;

// All ranks leave the exchange after the last one has come and so begin a step together; the time
// until the exchange is what distinguishes them.
double arrival(const RankRecord& rank) { return rank.data_seconds + rank.compute_seconds; }

template <typename Value>
double median_of_others(const std::vector<RankRecord>& ranks, std::size_t without, Value value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i != without) values.push_back(value(ranks[i]));
  }
  return median_of(std::move(values));
}

}  // namespace

std::string Straggler::describe(const std::vector<std::string>& hosts) const {
  return "slowest rank " + std::to_string(rank) + " (" + hosts.at(static_cast<std::size_t>(rank)) +
         "): +" + format_fixed(seconds * kMilliseconds, seconds * kMilliseconds < 10 ? 1 : 0) +
         " ms/step in " + (is_in_data ? "data" : "compute");
}

std::optional<Straggler> find_straggler(const std::vector<RankRecord>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const auto earlier = [](const RankRecord& one, const RankRecord& other) {
    return arrival(one) < arrival(other);
  };
  const auto slowest = std::max_element(ranks.begin(), ranks.end(), earlier);
  const auto index = static_cast<std::size_t>(slowest - ranks.begin());
  Straggler straggler;
  straggler.rank = static_cast<int>(index);
  straggler.seconds = arrival(*slowest) - median_of_others(ranks, index, arrival);
  straggler.share = straggler.seconds / std::max(slowest->step_seconds, 1e-9);
  const auto data = [](const RankRecord& rank) { return rank.data_seconds; };
  const double in_data = slowest->data_seconds - median_of_others(ranks, index, data);
  straggler.is_in_data = in_data > straggler.seconds / 2;
  return straggler;
}

void StragglerWatch::add(const std::vector<RankRecord>& ranks, double seconds) {
  const std::optional<Straggler> slowest = find_straggler(ranks);
  const int rank = slowest && slowest->is_notable() ? slowest->rank : -1;
  if (rank != latest_) since_ = 0;
  latest_ = rank;
  since_ += seconds;
  const bool is_named = named_ && named_->rank == rank;
  if (since_ < kSeconds && !is_named) return;
  named_ = rank < 0 ? std::nullopt : slowest;
}

}  // namespace tandem::metrics
