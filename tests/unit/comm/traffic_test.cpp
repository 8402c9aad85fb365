// The predicted messages beside those that the algorithms send. Their calls of MPI reach the
// functions below, which deliver and count the messages of many ranks in one process.
#include "tandem/comm/allreduce/traffic.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "allreduce/chunked_all_reduce.hpp"
#include "allreduce/deterministic_all_reduce.hpp"
#include "tandem/core/error.hpp"

namespace {

struct Message {
  std::vector<char> bytes;
  int number_in_row;
};
struct Receipt {
  void* to;
  int rank, from, tag;
  bool has_arrived = false;
};

struct CountedMpi {
  int ranks = 1, ranks_per_host = 1;
  std::map<std::tuple<int, int, int>, std::deque<Message>> on_the_way;  // from, to, tag
  std::deque<Receipt> receipts;
  std::vector<int> in_row;  // messages before a rank's next one, as Lamport's clocks
  std::vector<double> messages, sent, sent_by_host;
};
CountedMpi mpi;

int rank_of(MPI_Comm comm) { return static_cast<int>(reinterpret_cast<std::intptr_t>(comm)) - 1; }
MPI_Comm comm_of(int rank) { return reinterpret_cast<MPI_Comm>(std::intptr_t{rank} + 1); }
std::size_t bytes_of(int count, MPI_Datatype type) {
  return static_cast<std::size_t>(count) * (type == MPI_FLOAT ? 4 : 2);
}
template <typename Value>
Value& at(std::vector<Value>& values, int index) {
  return values.at(static_cast<std::size_t>(index));
}

}  // namespace

int MPI_Comm_size(MPI_Comm, int* size) {
  *size = mpi.ranks;
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = rank_of(comm);
  return MPI_SUCCESS;
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int from = rank_of(comm);
  const auto* const first = static_cast<const char*>(data);
  const std::size_t bytes = bytes_of(count, type);
  mpi.on_the_way[{from, to, tag}].push_back({{first, first + bytes}, at(mpi.in_row, from) + 1});
  at(mpi.messages, from) += 1;
  at(mpi.sent, from) += static_cast<double>(bytes);
  const int host = from / mpi.ranks_per_host;
  if (to / mpi.ranks_per_host != host) {
    at(mpi.sent_by_host, host) += static_cast<double>(bytes);
  }
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int MPI_Irecv(void* to, int, MPI_Datatype, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  mpi.receipts.push_back({to, rank_of(comm), from, tag});
  *request = reinterpret_cast<MPI_Request>(&mpi.receipts.back());
  return MPI_SUCCESS;
}
int MPI_Testall(int count, MPI_Request* requests, int* are_done, MPI_Status*) {
  *are_done = 1;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    auto& receipt = *reinterpret_cast<Receipt*>(requests[i]);
    auto& queue = mpi.on_the_way[{receipt.from, receipt.rank, receipt.tag}];
    if (!receipt.has_arrived && !queue.empty()) {
      const Message& message = queue.front();
      std::memcpy(receipt.to, message.bytes.data(), message.bytes.size());
      int& in_row = at(mpi.in_row, receipt.rank);
      in_row = std::max(in_row, message.number_in_row);
      receipt.has_arrived = true;
      queue.pop_front();
    }
    if (!receipt.has_arrived) *are_done = 0;
  }
  return MPI_SUCCESS;
}
int MPI_Reduce_local(const void* from, void* to, int count, MPI_Datatype, MPI_Op) {
  for (int i = 0; i < count; ++i) static_cast<float*>(to)[i] += static_cast<const float*>(from)[i];
  return MPI_SUCCESS;
}

namespace tandem::comm {
namespace {

using Start = std::unique_ptr<Request> (*)(MPI_Comm, Buffer, int);

double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

// What the messages of one sum are, after it was found right. `floats` on each rank.
Traffic count(Placement placement, std::size_t floats, Start start) {
  const int ranks = placement.ranks();
  const auto many = static_cast<std::size_t>(ranks);
  mpi = {};
  mpi.ranks = ranks;
  mpi.ranks_per_host = placement.ranks_per_host;
  mpi.in_row.resize(many);
  mpi.messages.resize(many);
  mpi.sent.resize(many);
  mpi.sent_by_host.resize(static_cast<std::size_t>(placement.hosts));
  // Ones, whose sums bfloat16 can hold, too.
  std::vector<std::vector<float>> values(many, std::vector<float>(floats, 1));
  std::vector<std::unique_ptr<Request>> requests;
  for (int rank = 0; rank < ranks; ++rank) {
    requests.push_back(start(comm_of(rank), Span<float>(at(values, rank)), 1));
  }
  for (std::size_t done = 0; done < many;) {
    done = static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(),
                                                  [](const auto& each) { return each->test(); }));
  }
  for (const std::vector<float>& each : values) {
    EXPECT_EQ(each, std::vector<float>(floats, static_cast<float>(ranks)));
  }
  return {"",
          *std::max_element(mpi.in_row.begin(), mpi.in_row.end()),
          most(mpi.messages),
          most(mpi.sent),
          most(mpi.sent_by_host),
          0};
}

// All ranks have the same rounding errors: none.
std::unique_ptr<Request> start_bf16(MPI_Comm comm, Buffer values, int tag) {
  static std::vector<float> errors;
  errors.assign(values.size, 0);
  return start_circulant_bf16_all_reduce(comm, values.floats(), errors.data(), tag);
}

constexpr AllReduceOptions kFlat{};
constexpr AllReduceOptions kFlatBf16{AllReduceAlgorithm::kFlat, true};
constexpr AllReduceOptions kTwoLevel{AllReduceAlgorithm::kTwoLevel};

void expect_counted(const AllReduceOptions& options, Placement placement, Start start) {
  SCOPED_TRACE(std::to_string(placement.hosts) + " x " + std::to_string(placement.ranks_per_host));
  const std::size_t floats = 32 * static_cast<std::size_t>(placement.ranks());
  const Traffic counted = count(placement, floats, start);
  const Traffic predicted = traffic_of(options, placement, 4.0 * static_cast<double>(floats));
  EXPECT_EQ(predicted.rounds, counted.rounds);
  EXPECT_EQ(predicted.messages, counted.messages);
  EXPECT_NEAR(predicted.rank_bytes, counted.rank_bytes, 1e-6);
  EXPECT_NEAR(predicted.host_bytes, counted.host_bytes, 1e-6);
}

TEST(Traffic, OfOneRankAHostIsThatOfTheDirectForm) {
  for (const int hosts : {2, 3, 4, 64}) {
    EXPECT_EQ(traffic_of(kFlat, {hosts, 1}, 1e6).route, "direct");
    expect_counted(kFlat, {hosts, 1}, start_direct_all_reduce);
  }
}

TEST(Traffic, OfSeveralRanksAHostIsThatOfTheRing) {
  for (const auto& [hosts, ranks] : {std::pair{2, 2}, {4, 2}, {3, 5}, {4, 16}, {2, 32}}) {
    EXPECT_EQ(traffic_of(kFlat, {hosts, ranks}, 1e6).route, "ring");
    expect_counted(kFlat, {hosts, ranks}, start_ring_all_reduce);
  }
}

TEST(Traffic, OfMoreThan64RanksIsThatOfTheRounds) {
  for (const auto& [hosts, ranks] : {std::pair{70, 1}, {1, 70}, {8, 16}, {4, 24}, {2, 48}}) {
    EXPECT_EQ(traffic_of(kFlat, {hosts, ranks}, 1e6).route, "circulant");
    expect_counted(kFlat, {hosts, ranks}, start_circulant_all_reduce);
  }
  expect_counted(kFlatBf16, {10, 10}, start_bf16);
}

// 64 ranks on one host send nothing. On a host each they would send the bytes that are counted for
// the last piece of mlp's 1,841,162 gradients, whose chunks are cut at lines of 16.
TEST(Traffic, Of64RanksOfMlp) {
  constexpr std::size_t kFloats = 1'841'162;
  const Traffic on_one_host = traffic_of(kFlat, {1, 64}, 4.0 * kFloats);
  EXPECT_EQ(on_one_host.route, "shared memory");
  EXPECT_EQ(on_one_host.rounds, 0);
  EXPECT_EQ(on_one_host.rank_bytes, 0);
  EXPECT_EQ(on_one_host.shared_bytes, 4.0 * kFloats);
  constexpr std::size_t kLast = kFloats % DeterministicAllReduce::kFloatsPerPiece;
  const Traffic counted = count({64, 1}, kLast, start_direct_all_reduce);
  const Traffic predicted = traffic_of(kFlat, {64, 1}, 4.0 * kLast);
  EXPECT_EQ(predicted.rounds, counted.rounds);
  EXPECT_EQ(predicted.messages, counted.messages);
  EXPECT_NEAR(counted.host_bytes / predicted.host_bytes, 1, 0.01);
}

// Each rank of a host exchanges its chunk with one rank of each other host.
TEST(Traffic, InTwoLevelsAHostSendsTheLeast) {
  for (const auto& [hosts, ranks] : {std::pair{2, 2}, {4, 8}, {70, 2}}) {
    const std::size_t chunk = 32 * static_cast<std::size_t>(hosts);
    const Traffic counted =
        count({hosts, 1}, chunk, hosts > 64 ? start_circulant_all_reduce : start_direct_all_reduce);
    const double bytes = 4.0 * ranks * static_cast<double>(chunk);
    const Traffic predicted = traffic_of(kTwoLevel, {hosts, ranks}, bytes);
    EXPECT_EQ(predicted.rounds, counted.rounds);
    EXPECT_EQ(predicted.messages, counted.messages);
    EXPECT_NEAR(predicted.rank_bytes, counted.rank_bytes, 1e-6);
    EXPECT_NEAR(predicted.host_bytes, ranks * counted.host_bytes, 1e-6);
    EXPECT_EQ(predicted.shared_bytes, bytes);
  }
  EXPECT_EQ(traffic_of(kTwoLevel, {1, 8}, 1e6).route, "shared memory");
  EXPECT_EQ(traffic_of(kTwoLevel, {1, 8}, 1e6).host_bytes, 0);
}

TEST(Traffic, AsBfloat16IsHalfAndHasNoRing) {
  const Traffic traffic = traffic_of(kFlatBf16, {2, 4}, 1e6);
  EXPECT_EQ(traffic.route, "direct");
  EXPECT_EQ(traffic.rank_bytes, 0.5e6 * 2 * 7 / 8);
  EXPECT_EQ(traffic.host_bytes, 4 * 0.5e6 * 2 * 4 / 8) << "each rank sends to those of the other";
  EXPECT_EQ(traffic_of({AllReduceAlgorithm::kTwoLevel, true}, {2, 4}, 1e6).host_bytes, 0.5e6);
  EXPECT_EQ(traffic_of(kFlatBf16, {1, 4}, 1e6).host_bytes, 0);
}

TEST(Traffic, OfOneRankIsNoneAndThatOfMpiIsNotKnown) {
  EXPECT_EQ(traffic_of(kFlat, {1, 1}, 1e6).messages, 0);
  const Traffic within_a_host = traffic_of(kFlatBf16, {1, 8}, 1e6);
  EXPECT_EQ(latency_on({1, 1, 1}, within_a_host), 0);
  EXPECT_EQ(transfer_seconds({}, within_a_host), 0) << "no link is used";
  EXPECT_THROW(traffic_of({AllReduceAlgorithm::kLibrary}, {2, 1}, 1e6), InternalError);
}

TEST(Traffic, TakesALatencyARoundAndTheLinkOfAHost) {
  const Traffic ring = traffic_of(kFlat, {2, 2}, 4e6);  // 6 rounds, 6 MB
  EXPECT_NEAR(latency_on({1e6, 0.5, 4}, ring), 6 * 0.5, 1e-9);
  EXPECT_NEAR(transfer_seconds({1e6, 0.5, 1}, ring), 6, 1e-9);
  EXPECT_NEAR(transfer_seconds({1e6, 0.5, 4}, ring), 4 * 6, 1e-9);
}

}  // namespace
}  // namespace tandem::comm
