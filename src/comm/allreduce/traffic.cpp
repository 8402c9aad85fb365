#include "tandem/comm/allreduce/traffic.hpp"

#include <algorithm>
#include <vector>

#include "chunked_all_reduce.hpp"
#include "circulant_rounds.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {
namespace {

// `bytes` as they travel. Every rank sends a chunk to each other rank, and later another one.
Traffic direct_traffic(Placement placement, double bytes) {
  const double ranks = placement.ranks();
  const double on_other_hosts = ranks - placement.ranks_per_host;
  return {"direct",
          2,
          2 * (ranks - 1),
          2 * (ranks - 1) / ranks * bytes,
          placement.ranks_per_host * 2 * on_other_hosts / ranks * bytes,
          0};
}

// Only the last rank of a host sends to another one.
Traffic ring_traffic(Placement placement, double bytes) {
  const int rounds = 2 * (placement.ranks() - 1);
  const double sent = bytes * rounds / placement.ranks();
  return {"ring", rounds, 1.0 * rounds, sent, placement.hosts > 1 ? sent : 0, 0};
}

Traffic circulant_traffic(Placement placement, double bytes) {
  const int ranks = placement.ranks();
  std::vector<double> sent_by_host(static_cast<std::size_t>(placement.hosts));
  Traffic traffic;
  traffic.route = "circulant";
  for (int rank = 0; rank < ranks; ++rank) {
    const int host = rank / placement.ranks_per_host;
    const std::vector<CirculantRound> rounds = circulant_rounds(rank, ranks);
    double messages = 0;
    double sent = 0;
    for (const CirculantRound& round : rounds) {
      for (const ChunkRange& chunks : round.sent) {
        const double of_message = bytes * chunks.count / ranks;
        messages += chunks.count > 0 ? 1 : 0;
        sent += of_message;
        if (round.to / placement.ranks_per_host == host) continue;
        sent_by_host[static_cast<std::size_t>(host)] += of_message;
      }
    }
    traffic.rounds = static_cast<int>(rounds.size());
    traffic.messages = std::max(traffic.messages, messages);
    traffic.rank_bytes = std::max(traffic.rank_bytes, sent);
  }
  traffic.host_bytes = *std::max_element(sent_by_host.begin(), sent_by_host.end());
  return traffic;
}

}  // namespace

Traffic traffic_of(const AllReduceOptions& options, Placement placement, double bytes) {
  if (options.algorithm == AllReduceAlgorithm::kLibrary) {
    throw InternalError("the messages of MPI's own all-reduce are not known");
  }
  if (placement.ranks() == 1) return {};
  const double sent_bytes = options.as_bfloat16 ? bytes / 2 : bytes;
  const bool is_few = placement.ranks() <= kMaxRanksInLinearRounds;
  if (options.algorithm == AllReduceAlgorithm::kTwoLevel) {
    // The ranks of a host exchange a chunk each, at the same time.
    const double share = placement.ranks_per_host;
    Traffic traffic = traffic_of({AllReduceAlgorithm::kFlat, options.as_bfloat16},
                                 {placement.hosts, 1}, bytes / share);
    traffic.host_bytes *= share;
    if (share > 1) traffic.shared_bytes = bytes;
    if (placement.hosts == 1) traffic.route = "shared memory";
    return traffic;
  }
  if (!is_few) return circulant_traffic(placement, sent_bytes);
  if (options.as_bfloat16) return direct_traffic(placement, sent_bytes);
  if (placement.hosts == 1) return {"shared memory", 0, 0, 0, 0, bytes};
  return placement.ranks_per_host > 1 ? ring_traffic(placement, sent_bytes)
                                      : direct_traffic(placement, sent_bytes);
}

double latency_on(const Link& link, const Traffic& traffic) {
  return traffic.host_bytes > 0 ? traffic.rounds * link.latency : 0;
}

double transfer_seconds(const Link& link, const Traffic& traffic) {
  if (traffic.host_bytes == 0) return 0;
  return traffic.host_bytes * link.oversubscription / link.bytes_per_second;
}

}  // namespace tandem::comm
