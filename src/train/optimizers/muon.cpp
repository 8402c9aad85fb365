#include "tandem/train/muon.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "muon_pieces.hpp"
#include "tandem/kernels/convolution.hpp"
#include "tandem/train/host_copy.hpp"

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

class Muon final : public Optimizer {
 public:
  // `pieces` of arrays like `values`.
  Muon(const OptimizerOptions& options, std::vector<Piece> pieces, const torch::Tensor& values,
       double peak)
      : options_(options),
        peak_(peak),
        pieces_(std::move(pieces)),
        velocity_(torch::zeros_like(values)),
        steps_(torch::zeros({}, values.options().dtype(torch::kFloat64))) {}

  void step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) override {
    const torch::NoGradGuard no_grad;
    for (const Piece& piece : pieces_) {
      const torch::Tensor value = piece.of(values);
      const torch::Tensor velocity = piece.of(velocity_);
      auto [new_value, new_velocity] =
          piece.kind == Kind::kMatrix
              ? muon(piece, value, piece.of(gradients), velocity, learning_rate)
              : sgd(piece, value, piece.of(gradients), velocity, learning_rate / peak_);
      if (skipped.defined()) {
        new_value = torch::where(skipped == 1, value, new_value);
        new_velocity = torch::where(skipped == 1, velocity, new_velocity);
      }
      value.copy_(new_value);
      velocity.copy_(new_velocity);
    }
    if (skipped.defined()) {
      steps_.add_(1 - skipped);
    } else {
      steps_.add_(1);
    }
  }

  std::vector<StateArray> state() override { return {{"velocity", velocity_}}; }
  void use_state(const std::vector<torch::Tensor>& arrays) override { velocity_ = arrays.at(0); }
  std::uint64_t steps() const override {
    return static_cast<std::uint64_t>(on_host(steps_).item<double>());
  }
  void set_steps(std::uint64_t steps) override { steps_.fill_(static_cast<double>(steps)); }

 private:
  using Both = std::pair<torch::Tensor, torch::Tensor>;  // value and velocity

  Both muon(const Piece& piece, const torch::Tensor& value, const torch::Tensor& gradient,
            const torch::Tensor& velocity, double rate) const {
    const torch::Tensor new_velocity = velocity * options_.momentum + gradient;
    const torch::Tensor direction =
        options_.nesterov ? gradient + new_velocity * options_.momentum : new_velocity;
    const torch::Dtype products = options_.bfloat16_products ? torch::kBFloat16 : torch::kFloat32;
    const torch::Tensor update =
        orthogonalised(direction.view({piece.rows, -1}), products).flatten();
    torch::Tensor kept = value;
    if (piece.keeps_norm)
      kept = value * (std::sqrt(static_cast<double>(piece.rows)) / value.norm());
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
    const torch::Tensor left =
        (1 - steps_ / static_cast<double>(options_.early_steps)).clamp_min(0);
    return {value - direction * (left * peak).to(torch::kFloat32), new_velocity};
  }

  const OptimizerOptions options_;
  const double peak_;
  const std::vector<Piece> pieces_;
  torch::Tensor velocity_;
  const torch::Tensor steps_;  // on the device, which may leave some out without the host's knowing
};

}  // namespace

torch::Tensor orthogonalised(const torch::Tensor& matrix, torch::Dtype products) {
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
