#include "chunked_all_reduce.hpp"
#include "mpi_values.hpp"

namespace tandem::comm {
namespace {

class DirectAllReduce final : public ChunkedAllReduce {
 public:
  using ChunkedAllReduce::ChunkedAllReduce;
  ~DirectAllReduce() override { finish(); }

  void start() {
    allocate(ranks_ - 1);
    for_each_other([this](int rank) { receive(rank, rank_, arrived_from(rank), tag_); });
    for_each_other([this](int rank) { send(rank, rank, tag_); });
  }

  bool test() override {
    while (are_messages_done()) {
      if (has_reduced_) return true;
      reduce_and_send();
    }
    return false;
  }

 private:
  char* arrived_from(int rank) const { return arrived_in(rank < rank_ ? rank : rank - 1); }
  // From the next rank on. If all began with rank 0, its link would carry all messages first.
  template <typename Visit>
  void for_each_other(const Visit& visit) const {
    for (int distance = 1; distance < ranks_; ++distance) visit(rank_at(distance));
  }

  void reduce_and_send() {
    // In the order of ChunkPartition.
    for (int distance = 1; distance < ranks_; ++distance) {
      const bool is_last = distance + 1 == ranks_;
      add(rank_, arrived_from(rank_at(distance)),
          is_last ? values_of(rank_) : arrived_from(rank_at(distance + 1)));
    }
    for_each_other([this](int rank) { receive(rank, rank, values_of(rank), tag_ + 1); });
    for_each_other([this](int rank) { send(rank, rank_, tag_ + 1); });
    has_reduced_ = true;
  }

  bool has_reduced_ = false;
};

}  // namespace

std::unique_ptr<Request> start_direct_all_reduce(MPI_Comm mpi, Buffer values, int tag) {
  auto started = std::make_unique<DirectAllReduce>(mpi, values, tag, mpi_type(values.type));
  started->start();
  return started;
}

}  // namespace tandem::comm
