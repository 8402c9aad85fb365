// Muon in few and long operations: on a GPU those of muon.cpp, a dozen per parameter, take longer
// to start than to compute.
#include <cmath>
#include <limits>

#include "device_optimizer.hpp"
#include "fused_muon.hpp"
#include "muon_banks.hpp"
#include "tandem/core/error.hpp"
#include "tandem/model/fused_use.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/train/muon.hpp"

namespace tandem::train {

#if TANDEM_LIBTORCH_SINCE(2, 4)
namespace {

using Kind = MuonPiece::Kind;

// What holds for each element of the arena, and where the elements of the banks come from.
struct Tables {
  explicit Tables(std::int64_t elements)
      : momentum(torch::zeros(elements)),
        decay(torch::zeros(elements)),
        share(torch::zeros(elements)),
        early(torch::zeros(elements)),
        in_matrix(torch::zeros(elements, torch::kBool)),
        place(torch::zeros(elements, torch::kInt32)),
        scale(torch::zeros(elements, torch::kInt32)) {}

  torch::Tensor momentum;
  torch::Tensor decay;      // of the value, added to its gradient
  torch::Tensor share;      // of the learning rate
  torch::Tensor early;      // the rate of an early parameter's first step
  torch::Tensor in_matrix;  // whether Muon updates it
  torch::Tensor place;      // in the banks, one behind the other
  torch::Tensor scale;      // the number of its matrix's factor

  void move_to(torch::Device device) {
    for (torch::Tensor* each : {&momentum, &decay, &share, &early, &in_matrix, &place, &scale}) {
      *each = each->to(device);
    }
  }
};

class DeviceMuon final : public CountingOptimizer {
 public:
  DeviceMuon(const OptimizerOptions& options, const ParameterArena& arena, double peak,
             const std::vector<MuonPiece>& pieces, const std::vector<MuonBank>& banks)
      : CountingOptimizer(options, arena.device(),
                          {{"velocity", torch::zeros_like(arena.flat_values())}}),
        size_(arena.flat_values().numel()),
        tables_(size_) {
    if (size_ >= std::numeric_limits<std::int32_t>::max()) {
      throw InternalError("Muon's tables hold places below 2^31, and the network has " +
                          std::to_string(size_) + " parameters");
    }
    for (const MuonPiece& piece : pieces) set_rule(piece, peak);
    std::vector<float> root_rows;  // of each matrix; 0: its norm is not kept
    std::int64_t first_place = 0;
    for (const MuonBank& bank : banks) {
      add_bank(bank, first_place, root_rows);
      first_place += bank.elements();
    }
    finish_tables(root_rows, pieces);
  }

 private:
  struct Bank {
    std::int64_t first;  // matrix, among all
    std::vector<std::int64_t> shape;
    torch::Tensor elements;  // int32, of the arena; its size for zeros
  };

  void set_rule(const MuonPiece& piece, double peak) {
    const bool is_matrix = piece.kind == Kind::kMatrix;
    const double own_peak = piece.kind == Kind::kHead ? options_.head_rate : options_.bias_rate;
    const bool is_early = !is_matrix && piece.early && options_.early_steps > 0;
    piece.of(tables_.momentum).fill_(is_matrix ? options_.momentum : options_.sgd_momentum);
    if (!is_matrix && own_peak > 0) {
      piece.of(tables_.decay).fill_(options_.weight_decay / own_peak);
    }
    piece.of(tables_.share).fill_(is_matrix ? 1 : is_early ? 0 : own_peak / peak);
    if (is_early) piece.of(tables_.early).fill_(own_peak);
    piece.of(tables_.in_matrix).fill_(is_matrix);
    has_early_ = has_early_ || is_early;
  }

  void add_bank(const MuonBank& bank, std::int64_t first_place, std::vector<float>& root_rows) {
    torch::Tensor elements =
        torch::full({bank.size(), bank.rows, bank.columns}, size_, torch::kInt32);
    const torch::Tensor places =
        torch::arange(first_place, first_place + bank.elements(), torch::kInt32).view_as(elements);
    const auto first = static_cast<std::int64_t>(root_rows.size());
    for (std::int64_t i = 0; i < bank.size(); ++i) {
      const MuonPiece& matrix = bank.matrices[static_cast<std::size_t>(i)];
      const std::int64_t columns = matrix.columns();
      const bool is_tall = matrix.rows > columns;
      const auto here = [&](const torch::Tensor& all) {
        const torch::Tensor one = is_tall ? all[i].t() : all[i];
        return one.slice(0, 0, matrix.rows).slice(1, 0, columns);
      };
      here(elements).copy_(torch::arange(matrix.offset, matrix.offset + matrix.count, torch::kInt32)
                               .view({matrix.rows, columns}));
      matrix.of(tables_.place).view({matrix.rows, columns}).copy_(here(places));
      matrix.of(tables_.scale).fill_(first + i);
      root_rows.push_back(matrix.keeps_norm ? std::sqrt(static_cast<float>(matrix.rows)) : 0);
    }
    banks_.push_back({first, elements.sizes().vec(), elements.flatten().to(array(0).device())});
  }

  // Of the elements whose norm is not kept the factor is 1, the last one.
  void finish_tables(const std::vector<float>& root_rows, const std::vector<MuonPiece>& pieces) {
    const auto one = static_cast<std::int64_t>(root_rows.size());
    for (const MuonPiece& piece : pieces) {
      if (!piece.keeps_norm || piece.kind != Kind::kMatrix) piece.of(tables_.scale).fill_(one);
    }
    const torch::Device device = array(0).device();
    root_rows_ = torch::tensor(root_rows).to(device);
    scales_ = torch::ones({one + 1}, device);
    packed_ = torch::zeros({2, size_ + 1}, device);  // the last column stays 0
    tables_.move_to(device);
  }

  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              const torch::Tensor& learning_rate, const torch::Tensor& skipped) override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor change = torch::addcmul(gradients, values, tables_.decay);
    const torch::Tensor velocity = torch::addcmul(change, array(0), tables_.momentum);
    torch::Tensor direction = packed_[0].narrow(0, 0, size_);
    torch::addcmul_out(direction, change, velocity, tables_.momentum);
    if (!options_.nesterov) {  // of the matrices; all others' always is Nesterov's
      direction.copy_(torch::where(tables_.in_matrix, velocity, direction));
    }
    torch::Tensor kept = values;
    if (!banks_.empty()) {
      packed_[1].narrow(0, 0, size_).copy_(values);
      direction = torch::where(tables_.in_matrix, orthogonalized_banks(), direction);
      kept = values * scales_.index_select(0, tables_.scale);
    }
    write_unless_skipped(values, torch::addcmul(kept, direction, rates(learning_rate), -1),
                         skipped);
    write_unless_skipped(array(0), velocity, skipped);
  }

  // In the places of the arena, and anything elsewhere. Sets the factors of the values' norms.
  torch::Tensor orthogonalized_banks() {
    std::vector<torch::Tensor> updates;
    for (const Bank& bank : banks_) {
      const std::int64_t matrices = bank.shape.front();
      const torch::Tensor both =
          packed_.index_select(1, bank.elements).view({2, matrices, bank.shape[1], bank.shape[2]});
      const torch::Tensor norms = at::linalg_vector_norm(both, 2, std::vector<std::int64_t>{2, 3});
      torch::Tensor scales = scales_.narrow(0, bank.first, matrices);
      torch::div_out(scales, root_rows_.narrow(0, bank.first, matrices),
                     norms[1].clamp_min(NewtonSchulz::kSmallestNorm));
      const torch::Tensor divisors = (norms[0] + NewtonSchulz::kSmallestNorm).view({-1, 1, 1});
      // As published: on a GPU in bfloat16, which is several times as fast there and only there.
      torch::Tensor x = torch::empty(
          bank.shape, both.options().dtype(both.is_cuda() ? torch::kBFloat16 : torch::kFloat32));
      torch::div_out(x, both[0], divisors);
      updates.push_back(iterated(x).flatten());
    }
    const torch::Tensor all = updates.size() == 1 ? updates.front() : torch::cat(updates);
    return all.index_select(0, tables_.place).to(torch::kFloat32);
  }

  torch::Tensor rates(const torch::Tensor& learning_rate) const {
    const torch::Tensor usual = tables_.share * learning_rate;
    if (!has_early_) return usual;
    const auto early_steps = static_cast<double>(options_.early_steps);
    const torch::Tensor left = (1 - (steps_ - 1) / early_steps).clamp_min(0);
    return torch::addcmul(usual, tables_.early, left);
  }

  const std::int64_t size_;
  Tables tables_;
  bool has_early_ = false;
  std::vector<Bank> banks_;
  torch::Tensor root_rows_;
  torch::Tensor scales_;  // of the matrices' values in the step under way, and 1
  torch::Tensor packed_;  // [2, size + 1]: directions and values, with a zero behind
};

}  // namespace

std::unique_ptr<Optimizer> make_device_muon(const OptimizerOptions& options,
                                            const ParameterArena& arena, double peak,
                                            const std::vector<std::string>& early) {
  const std::vector<MuonPiece> pieces = muon_pieces_of(arena, early);
  const std::vector<MuonBank> banks = muon_banks_of(pieces);
  // The operators put all matrices into one stack.
  if (model::fused::is_used_on(arena.device().type()) && banks.size() == 1) {
    return make_fused_muon(options, arena, peak, pieces);
  }
  return std::make_unique<DeviceMuon>(options, arena, peak, pieces, banks);
}
#else
std::unique_ptr<Optimizer> make_device_muon(const OptimizerOptions&, const ParameterArena&, double,
                                            const std::vector<std::string>&) {
  throw UnavailableError(kNoFusedOptimizers);
}
#endif

}  // namespace tandem::train
