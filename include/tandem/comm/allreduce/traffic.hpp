// The messages of an all-reduce of gradients on planned hosts, as plain numbers: for predictions.
// No communication. Hosts have consecutive ranks, the same number on each. Throws InternalError for
// kLibrary, whose messages are MPI's.
#pragma once

#include <string>

#include "tandem/comm/allreduce/all_reduce.hpp"

namespace tandem::comm {

struct Placement {
  int hosts = 1;
  int ranks_per_host = 1;
  int ranks() const { return hosts * ranks_per_host; }
};

// The link of a host, full duplex.
struct Link {
  double bytes_per_second = 0;
  double latency = 20e-6;  // seconds of a short message; about that of TCP over Ethernet
  // The rates of all hosts over the rate of the switches between them. All bytes count as if they
  // crossed these switches.
  double oversubscription = 1;
};

struct Traffic {
  std::string route = "none";  // "shared memory", "direct", "ring", "circulant"
  int rounds = 0;              // messages in a row
  double messages = 0;         // that a rank sends in one all-reduce
  double rank_bytes = 0;       // that it sends in messages, within its host too
  double host_bytes = 0;       // that the busiest host sends to other hosts
  double shared_bytes = 0;     // that a rank adds in shared memory
};

// Of one all-reduce of `bytes` of fp32 gradients, many enough that each rank has a chunk.
Traffic traffic_of(const AllReduceOptions& options, Placement placement, double bytes);

// Seconds over the hosts' links: the latencies of all rounds, as if each crossed a link, and the
// bytes of the busiest host, whose ranks share its link. 0 within a host.
double latency_on(const Link& link, const Traffic& traffic);
double transfer_seconds(const Link& link, const Traffic& traffic);

}  // namespace tandem::comm
