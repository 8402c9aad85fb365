#include <vector>

#include "bfloat16_loops.hpp"
#include "chunked_all_reduce.hpp"
#include "circulant_rounds.hpp"
#include "mpi_values.hpp"

namespace tandem::comm {
namespace {

// In a round at most half of the chunks arrive.
int max_arriving_chunks(int ranks) { return ranks / 2; }

class CirculantAllReduce : public ChunkedAllReduce {
 public:
  using ChunkedAllReduce::ChunkedAllReduce;
  ~CirculantAllReduce() override { finish(); }

  virtual void start() {
    allocate(max_arriving_chunks(ranks_));
    start_round();
  }

  bool test() override {
    while (round_ < rounds_.size()) {
      if (!are_messages_done()) return false;
      if (rounds_[round_].adds) add_arrived(rounds_[round_]);
      ++round_;
      start_round();
    }
    return true;
  }

 protected:
  void start_round() {
    if (round_ == rounds_.size()) return complete();
    const CirculantRound& round = rounds_[round_];
    if (!round.adds && rounds_[round_ - 1].adds) prepare(circulant_chunk(rank_, ranks_));
    int slot = first_slot();
    for (const ChunkRange& chunks : round.received) {
      receive(round.from, chunks, round.adds ? arrived_in(slot) : values_of(chunks), tag_);
      slot += chunks.count;
    }
    for (const ChunkRange& chunks : round.sent) {
      if (round.adds) prepare(chunks);
      send(round.to, chunks, tag_);
    }
  }

 private:
  void add_arrived(const CirculantRound& round) {
    int slot = first_slot();
    for (const ChunkRange& chunks : round.received) {
      add_values(chunks, arrived_in(slot));
      slot += chunks.count;
    }
  }

  virtual int first_slot() const { return 0; }
  // Called once for each chunk, after this rank's last addition to it and before it leaves.
  virtual void prepare(ChunkRange) {}
  virtual void add_values(ChunkRange chunks, const char* arrived) {
    add(chunks, arrived, values_of(chunks));
  }
  virtual void complete() {}

  const std::vector<CirculantRound> rounds_ = circulant_rounds(rank_, ranks_);
  std::size_t round_ = 0;
};

// Sends bfloat16 values from a buffer of its own, and adds into the caller's floats.
class CirculantBf16AllReduce final : public CirculantAllReduce {
 public:
  CirculantBf16AllReduce(MPI_Comm mpi, Span<float> sums, float* errors, int tag)
      : CirculantAllReduce(mpi, Buffer(nullptr, sums.size(), DataType::kBfloat16), tag,
                           mpi_type_of_moved(DataType::kBfloat16)),
        sums_(sums),
        errors_(errors) {}
  ~CirculantBf16AllReduce() override { finish(); }

  void start() override {
    allocate(ranks_ + max_arriving_chunks(ranks_));
    use_slot(0);
    start_round();
  }

 private:
  static Bfloat16* rounded(char* values) { return reinterpret_cast<Bfloat16*>(values); }

  int first_slot() const override { return ranks_; }
  void prepare(ChunkRange chunks) override {
    const std::size_t first = first_of(chunks);
    round_and_keep_error(rounded(values_of(chunks)), sums_.data() + first, errors_ + first,
                         count_of(chunks));
  }
  void add_values(ChunkRange chunks, const char* arrived) override {
    add_widened(sums_.data() + first_of(chunks), reinterpret_cast<const Bfloat16*>(arrived),
                count_of(chunks));
  }
  void complete() override { widen(sums_.data(), rounded(values_of(0)), sums_.size()); }

  const Span<float> sums_;
  float* const errors_;
};

}  // namespace

std::unique_ptr<Request> start_circulant_all_reduce(MPI_Comm mpi, Buffer values, int tag) {
  auto started = std::make_unique<CirculantAllReduce>(mpi, values, tag, mpi_type(values.type));
  started->start();
  return started;
}

std::unique_ptr<Request> start_circulant_bf16_all_reduce(MPI_Comm mpi, Span<float> values,
                                                         float* errors, int tag) {
  auto started = std::make_unique<CirculantBf16AllReduce>(mpi, values, errors, tag);
  started->start();
  return started;
}

}  // namespace tandem::comm
