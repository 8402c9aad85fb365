#include "tandem/train/muon.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host_optimizer.hpp"
#include "muon_pieces.hpp"
#include "tandem/kernels/convolution.hpp"

namespace tandem::train {
namespace {

using Piece = MuonPiece;
using Kind = MuonPiece::Kind;

}  // namespace

std::vector<MuonPiece> muon_pieces_of(const ParameterArena& arena,
                                      const std::vector<std::string>& early) {
  std::vector<Piece> pieces;
  bool head_is_due = true;  // slots lie from the last layer to the first
  for (const ParameterArena::Slot& slot : arena.slots()) {
    Piece piece{Kind::kShort,
                false,
                false,
                1,
                static_cast<std::int64_t>(slot.offset),
                static_cast<std::int64_t>(slot.count)};
    if (slot.parameter.dim() > 1) {
      piece.kind = std::exchange(head_is_due, false) ? Kind::kHead : Kind::kMatrix;
      piece.keeps_norm = slot.parameter.dim() == 4;
      piece.rows = slot.parameter.size(0);
    }
    piece.early = std::find(early.begin(), early.end(), slot.name) != early.end();
    pieces.push_back(piece);
  }
  return pieces;
}

namespace {

class Muon final : public HostOptimizer {
 public:
  // `pieces` of arrays like `values`.
  Muon(const OptimizerOptions& options, std::vector<Piece> pieces, const torch::Tensor& values,
       double peak)
      : HostOptimizer(options, {{"velocity", torch::zeros_like(values)}}),
        peak_(peak),
        pieces_(std::move(pieces)) {}

 private:
  using Both = std::pair<torch::Tensor, torch::Tensor>;  // value and velocity

  void update(const torch::Tensor& values, const torch::Tensor& gradients,
              double learning_rate) override {
    const torch::NoGradGuard no_grad;
    for (const Piece& piece : pieces_) {
      const torch::Tensor value = piece.of(values);
      const torch::Tensor velocity = piece.of(array(0));
      const auto [new_value, new_velocity] =
          piece.kind == Kind::kMatrix
              ? muon(piece, value, piece.of(gradients), velocity, learning_rate)
              : sgd(piece, value, piece.of(gradients), velocity, learning_rate / peak_);
      value.copy_(new_value);
      velocity.copy_(new_velocity);
    }
  }

  Both muon(const Piece& piece, const torch::Tensor& value, const torch::Tensor& gradient,
            const torch::Tensor& velocity, double rate) const {
    const torch::Tensor new_velocity = velocity * options_.momentum + gradient;
    const torch::Tensor direction =
        options_.nesterov ? gradient + new_velocity * options_.momentum : new_velocity;
    const torch::Dtype products = options_.bfloat16_products ? torch::kBFloat16 : torch::kFloat32;
    const torch::Tensor update =
        orthogonalized(direction.view({piece.rows, -1}), products).flatten();
    torch::Tensor kept = value;
    if (piece.keeps_norm) {
      const torch::Tensor norm = value.norm().clamp_min(NewtonSchulz::kSmallestNorm);
      kept = value * (std::sqrt(static_cast<double>(piece.rows)) / norm);
    }
    return {kept - update * rate, new_velocity};
  }

  // `share`: of the peak rate.
  Both sgd(const Piece& piece, const torch::Tensor& value, const torch::Tensor& gradient,
           const torch::Tensor& velocity, double share) const {
    const double peak = piece.kind == Kind::kHead ? options_.head_rate : options_.bias_rate;
    const torch::Tensor change =
        peak > 0 ? gradient + value * (options_.weight_decay / peak) : gradient;
    const torch::Tensor new_velocity = velocity * options_.sgd_momentum + change;
    const torch::Tensor direction = change + new_velocity * options_.sgd_momentum;
    if (!piece.early || options_.early_steps == 0) {
      return {value - direction * (peak * share), new_velocity};
    }
    const auto steps_before = static_cast<double>(steps() - 1);
    const double left = std::max(0.0, 1 - steps_before / static_cast<double>(options_.early_steps));
    return {value - direction * (left * peak), new_velocity};
  }

  const double peak_;
  const std::vector<Piece> pieces_;
};

}  // namespace

torch::Tensor orthogonalized(const torch::Tensor& matrix, torch::Dtype products) {
  const bool tall = matrix.size(0) > matrix.size(1);
  // On a processor without instructions for bfloat16, libtorch would sum in bfloat16, too. Products
  // of two such numbers are exact in fp32.
  const bool is_native = !matrix.is_cpu() || kernels::has_amx();
  const auto rounded = [&](const torch::Tensor& values) {
    return is_native ? values.to(products) : values.to(products).to(torch::kFloat32);
  };
  torch::Tensor x = rounded(matrix / (matrix.norm() + NewtonSchulz::kSmallestNorm));
  if (tall) x = x.t().contiguous();
  for (int i = 0; i < NewtonSchulz::kIterations; ++i) {
    const torch::Tensor squares = rounded(x.mm(x.t()));
    const torch::Tensor factor =
        rounded(torch::addmm(squares, squares, squares, NewtonSchulz::kB, NewtonSchulz::kC));
    x = rounded(torch::addmm(x, factor, x, NewtonSchulz::kA, 1));
  }
  if (tall) x = x.t().contiguous();
  return x.to(torch::kFloat32);
}

bool prefers_bfloat16_products(const OptimizerOptions& options, model::Precision precision) {
  return options.name == "muon" && precision == model::Precision::kBf16 && kernels::has_amx();
}

std::unique_ptr<Optimizer> make_muon(const OptimizerOptions& options, const ParameterArena& arena,
                                     double peak, const std::vector<std::string>& early) {
  return std::make_unique<Muon>(options, muon_pieces_of(arena, early), arena.flat_values(), peak);
}

std::unique_ptr<Optimizer> make_muon_of_piece(const OptimizerOptions& options, MuonPiece piece,
                                              double peak) {
  piece.offset = 0;
  return std::make_unique<Muon>(options, std::vector<Piece>{piece}, torch::empty({piece.count}),
                                peak);
}

}  // namespace tandem::train
