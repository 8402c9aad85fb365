#include "tandem/train/power_sgd.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

#include "power_sgd_loops.hpp"
#include "tandem/core/random.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/tensor_names.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

constexpr std::uint64_t kStream = 0x5053'4744;  // a stream of random numbers of its own

// One matrix is never divided, so bits do not depend on the number of threads.
template <typename Items, typename Work>
void for_each_in_parallel(const Items& items, const Work& work) {
  at::parallel_for(0, static_cast<std::int64_t>(items.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (; begin < end; ++begin) work(items[static_cast<std::size_t>(begin)]);
                   });
}

std::vector<std::int64_t> after(std::int64_t first, at::IntArrayRef rest) {
  std::vector<std::int64_t> all{first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// Arrays of `ranks` ranks, one after the other, with the shape and layout of the parameter.
torch::Tensor arrays_of_ranks(int ranks, const torch::Tensor& parameter) {
  return torch::empty_strided(after(ranks, parameter.sizes()),
                              after(parameter.numel(), parameter.strides()), torch::kFloat32);
}

}  // namespace

PowerSgdAllReduce::PowerSgdAllReduce(comm::Collectives& inner, ParameterArena& arena,
                                     std::size_t rank, std::uint64_t seed)
    : ForwardingCollectives(inner),
      arena_(arena),
      rank_(rank),
      seed_(seed),
      errors_(flat_zeros(arena.gradients().size())) {
  std::size_t p = 0;
  std::size_t q = 0;
  for (const ParameterArena::Slot& slot : arena.slots()) {
    const std::size_t rows =
        slot.parameter.dim() < 2 ? 1 : static_cast<std::size_t>(slot.parameter.size(0));
    const std::size_t columns = rows == 0 ? 0 : slot.count / rows;
    if ((rows + columns) * rank >= slot.count) {
      others_.push_back({&slot, 0});
      continue;
    }
    matrices_.push_back({&slot, rows, columns, p, q});
    p += rows * rank;
    q += columns * rank;
  }
  for (Other& other : others_) {
    other.at = p;
    p += other.slot->count;
  }
  sums_.resize(p);
  q_.resize(q);
  reset_error_feedback();
}

void PowerSgdAllReduce::reset_error_feedback() {
  errors_.zero_();
  for (const Matrix& matrix : matrices_) draw_q(matrix, q_.data() + matrix.q);
}

Span<float> PowerSgdAllReduce::errors_of(const Matrix& matrix) const {
  return floats_of(errors_).subspan(matrix.slot->offset, matrix.slot->count);
}

torch::Tensor PowerSgdAllReduce::q_of(const Matrix& matrix) const {
  return torch::from_blob(
      const_cast<float*>(q_.data()) + matrix.q,
      {static_cast<std::int64_t>(rank_), static_cast<std::int64_t>(matrix.columns)});
}

// Uniform numbers do as well as the paper's normal ones, and have no logarithm, whose last bit
// depends on the C library.
void PowerSgdAllReduce::draw_q(const Matrix& matrix, float* q) const {
  CounterRandom random{seed_, kStream, matrix.q};
  for (std::size_t i = 0; i < matrix.columns * rank_; ++i) {
    q[i] = static_cast<float>(2 * random.uniform() - 1);
  }
}

void PowerSgdAllReduce::compute_p(const Matrix& matrix) {
  float* row = gradient_of(matrix);
  const Span<float> errors = errors_of(matrix);
  if (matrix.slot->parameter.requires_grad()) {
    add_scaled(row, errors.data(), 1, errors.size());
  } else {
    std::fill(errors.begin(), errors.end(), 0.0F);  // not trained any more
  }
  float* const p = sums_.data() + matrix.p;
  for (std::size_t i = 0; i < matrix.rows; ++i, row += matrix.columns) {
    for (std::size_t k = 0; k < rank_; ++k) {
      p[k * matrix.rows + i] = dot(row, q_.data() + matrix.q + k * matrix.columns, matrix.columns);
    }
  }
}

void PowerSgdAllReduce::compute_q(const Matrix& matrix) {
  float* const p = sums_.data() + matrix.p;
  float* const q = q_.data() + matrix.q;
  orthonormalize(p, rank_, matrix.rows);
  std::fill_n(q, matrix.columns * rank_, 0.0F);
  const float* row = gradient_of(matrix);
  for (std::size_t i = 0; i < matrix.rows; ++i, row += matrix.columns) {
    for (std::size_t k = 0; k < rank_; ++k) {
      add_scaled(q + k * matrix.columns, row, p[k * matrix.rows + i], matrix.columns);
    }
  }
  const Span<float> errors = errors_of(matrix);
  std::copy_n(gradient_of(matrix), errors.size(), errors.data());
  add_product(matrix, -1, errors.data());
}

void PowerSgdAllReduce::decompress(const Matrix& matrix) {
  float* const gradient = gradient_of(matrix);
  float* const q = q_.data() + matrix.q;
  std::fill_n(gradient, matrix.slot->count, 0.0F);
  add_product(matrix, 1, gradient);
  // A non-finite error would never leave. All ranks have the same Q.
  const bool is_finite = all_finite({q, matrix.columns * rank_});
  if (!is_finite) std::fill_n(errors_of(matrix).data(), matrix.slot->count, 0.0F);
  // A zero column would stay zero.
  std::vector<float> fresh;
  for (std::size_t k = 0; k < rank_; ++k) {
    float* const column = q + k * matrix.columns;
    const auto is_zero = [](float value) { return value == 0; };
    if (is_finite && !std::all_of(column, column + matrix.columns, is_zero)) continue;
    if (fresh.empty()) {
      fresh.resize(matrix.columns * rank_);
      draw_q(matrix, fresh.data());
    }
    std::copy_n(fresh.data() + k * matrix.columns, matrix.columns, column);
  }
}

// values += factor * P Q^T
void PowerSgdAllReduce::add_product(const Matrix& matrix, float factor, float* values) const {
  const float* const p = sums_.data() + matrix.p;
  for (std::size_t i = 0; i < matrix.rows; ++i, values += matrix.columns) {
    for (std::size_t k = 0; k < rank_; ++k) {
      add_scaled(values, q_.data() + matrix.q + k * matrix.columns, factor * p[k * matrix.rows + i],
                 matrix.columns);
    }
  }
}

void PowerSgdAllReduce::do_all_reduce(comm::Buffer values) {
  const Span<float> gradients = arena_.gradients();
  const bool is_ours = values.data == gradients.data() && values.size == gradients.size();
  if (!is_ours) {
    inner().all_reduce(values);
    return;
  }
  for_each_in_parallel(matrices_, [this](const Matrix& each) { compute_p(each); });
  for (const Other& each : others_) {
    std::copy_n(gradients.data() + each.slot->offset, each.slot->count, sums_.data() + each.at);
  }
  inner().all_reduce(Span<float>(sums_));
  for (const Other& each : others_) {
    std::copy_n(sums_.data() + each.at, each.slot->count, gradients.data() + each.slot->offset);
  }
  for_each_in_parallel(matrices_, [this](const Matrix& each) { compute_q(each); });
  if (!q_.empty()) inner().all_reduce(Span<float>(q_));
  for_each_in_parallel(matrices_, [this](const Matrix& each) { decompress(each); });
}

// One rank after the other, because MPI_Gatherv takes 2 GiB at most.
std::vector<model::NamedTensor> PowerSgdAllReduce::gather_state(comm::Communicator& comm) const {
  std::vector<model::NamedTensor> tensors;
  for (const Matrix& matrix : matrices_) {
    const ParameterArena::Slot& slot = *matrix.slot;
    const Span<float> errors = errors_of(matrix);
    std::vector<float> unused(errors.size());
    if (comm.rank() != 0) {
      comm.sendrecv(0, Span<const float>(errors.data(), errors.size()), Span<float>(unused));
      continue;
    }
    const torch::Tensor all = arrays_of_ranks(comm.size(), slot.parameter);
    float* theirs = all.data_ptr<float>();
    std::copy_n(errors.data(), errors.size(), theirs);
    for (int rank = 1; rank < comm.size(); ++rank) {
      theirs += errors.size();
      comm.sendrecv(rank, Span<const float>(unused), Span<float>(theirs, errors.size()));
    }
    tensors.push_back({optimizer_tensor_name(kPowerSgdQ, slot.name), q_of(matrix).clone(), false});
    tensors.push_back({optimizer_tensor_name(kPowerSgdErrors, slot.name), all, false});
  }
  return tensors;
}

void PowerSgdAllReduce::restore_state(comm::Communicator& comm,
                                      const std::vector<model::NamedTensor>& tensors) {
  reset_error_feedback();
  std::map<std::string, torch::Tensor> found;
  for (const model::NamedTensor& each : tensors) found[each.name] = each.tensor;
  const auto take = [&](const torch::Tensor& to, const char* array, const std::string& parameter) {
    const auto from = found.find(optimizer_tensor_name(array, parameter));
    if (from != found.end() && from->second.sizes() == to.sizes()) to.copy_(from->second);
  };
  for (const Matrix& matrix : matrices_) {
    const ParameterArena::Slot& slot = *matrix.slot;
    take(q_of(matrix), kPowerSgdQ, slot.name);
    const Span<float> errors = errors_of(matrix);
    std::vector<float> unused(errors.size());
    if (comm.rank() != 0) {
      comm.sendrecv(0, Span<const float>(unused), errors);
      continue;
    }
    const torch::Tensor all = arrays_of_ranks(comm.size(), slot.parameter).zero_();
    take(all, kPowerSgdErrors, slot.name);
    const float* theirs = all.data_ptr<float>();
    std::copy_n(theirs, errors.size(), errors.data());
    for (int rank = 1; rank < comm.size(); ++rank) {
      theirs += errors.size();
      comm.sendrecv(rank, Span<const float>(theirs, errors.size()), Span<float>(unused));
    }
  }
  comm.broadcast(Span<float>(q_));
}

}  // namespace tandem::train
