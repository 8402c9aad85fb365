// An all-reduce of gradients in host memory that compresses matrices to a low rank (--grad-dtype
// powersgd): PowerSGD with warm start and error feedback (Vogels, Karimireddy, Jaggi, "PowerSGD:
// Practical Low-Rank Gradient Compression for Distributed Optimization", NeurIPS 2019, arXiv
// 1905.13727). One thread at a time. `inner` and arena must outlive it. Throws what they throw.
//
// A parameter of two or more dimensions is a matrix M of its first dimension x the rest, if
// (rows + columns) * rank < rows * columns; others are summed as they are. With sums over all
// ranks, a step makes P = sum(M Q), orthonormalizes its columns, makes Q = sum(M^T P) and takes
// P Q^T for the sum of M. Each rank adds M - P (its M^T P)^T, which was not sent, to its next
// gradient. All ranks have the same P and Q bit for bit if `inner` gives them the same sums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/forwarding_collectives.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::train {

class PowerSgdAllReduce final : public comm::ForwardingCollectives {
 public:
  // `rank`: of the matrices that are sent, 1 or more. `seed` draws the first Q. Only blocking fp32
  // sums of all gradients are compressed; `inner` makes all other calls.
  PowerSgdAllReduce(comm::Collectives& inner, ParameterArena& arena, std::size_t rank,
                    std::uint64_t seed);

  std::string name() const override { return inner().name() + " with PowerSGD"; }
  // Also redraws Q.
  void reset_error_feedback() override;
  // The floats that a step sums over all ranks.
  std::size_t floats_per_step() const { return sums_.size() + q_.size(); }

  // Collective. On rank 0 the tensors that a checkpoint keeps: Q, [rank, columns], and the errors
  // of all ranks, [ranks, the parameter's shape]. Empty on other ranks.
  std::vector<model::NamedTensor> gather_state(comm::Communicator& comm) const;
  // Collective. Takes these tensors back; other ranks than 0 may pass none. Errors of another
  // number of ranks, and Q of another rank, begin anew.
  void restore_state(comm::Communicator& comm, const std::vector<model::NamedTensor>& tensors);

 private:
  struct Matrix {
    const ParameterArena::Slot* slot;
    std::size_t rows;
    std::size_t columns;
    std::size_t p;  // its offset in sums_
    std::size_t q;  // its offset in q_
  };
  struct Other {
    const ParameterArena::Slot* slot;
    std::size_t at;  // its offset in sums_
  };
  float* gradient_of(const Matrix& matrix) {
    return arena_.gradients().data() + matrix.slot->offset;
  }
  Span<float> errors_of(const Matrix& matrix) const;
  torch::Tensor q_of(const Matrix& matrix) const;  // a view
  void draw_q(const Matrix& matrix, float* q) const;
  void compute_p(const Matrix& matrix);
  void compute_q(const Matrix& matrix);
  void decompress(const Matrix& matrix);
  void add_product(const Matrix& matrix, float factor, float* values) const;

  void do_all_reduce(comm::Buffer values) override;

  ParameterArena& arena_;
  const std::size_t rank_;
  const std::uint64_t seed_;
  std::vector<Matrix> matrices_;
  std::vector<Other> others_;
  std::vector<float> sums_;     // P of all matrices, column by column, then the other gradients
  std::vector<float> q_;        // of all matrices, column by column
  const torch::Tensor errors_;  // flat, in the arena's layout
};

}  // namespace tandem::train
