#include <cstddef>

#include "call.hpp"
#include "tandem/model/fused_operators.hpp"

namespace tandem::gpu {
namespace {

namespace fused = model::fused;
static_assert(sizeof(MuonPiece) == fused::kMuonColumns * sizeof(std::int64_t));
static_assert(kMuonBlock == fused::kMuonBlock);
static_assert(offsetof(MuonPiece, first_block) == fused::kFirstBlock * sizeof(std::int64_t));
static_assert(kMatrixKind == static_cast<int>(fused::MuonPiece::Kind::kMatrix));
static_assert(kHeadKind == static_cast<int>(fused::MuonPiece::Kind::kHead));

// Sets what all three operators take. `squares`, `table`: the numbers of these arguments.
void set_table(MuonArguments& a, const Call& call, std::size_t squares, std::size_t table) {
  const torch::Tensor pieces = call.tensor(table);
  TORCH_CHECK(pieces.dim() == 2 && pieces.size(0) > 0 && pieces.size(1) == fused::kMuonColumns,
              "muon: expected a table of ", static_cast<int>(fused::kMuonColumns),
              " columns, found ", pieces.sizes());
  a.squares = call.array<double>(squares, torch::kFloat64, pieces);
  a.pieces =
      reinterpret_cast<const MuonPiece*>(call.array<std::int64_t>(table, torch::kInt64, pieces));
  a.piece_count = static_cast<int>(pieces.size(0));
}

void set_stack(MuonArguments& a, const Call& call, std::size_t i) {
  const torch::Tensor stack = call.tensor(i);
  TORCH_CHECK(stack.dim() == 3, "muon: expected a stack of matrices, found ", stack.sizes());
  a.stack = call.array<void>(i, stack.scalar_type(), stack);
  a.stack_rows = stack.size(1);
  a.stack_columns = stack.size(2);
}

void run(const std::string& kernel, const torch::Tensor& squares, const MuonArguments& a) {
  launcher().launch(squares.device(), {kernel, squares.size(0)}, &a);
}

}  // namespace

void muon_begin(torch::jit::Stack& stack) {
  Call call(stack, 10);
  const torch::Tensor values = call.tensor(0), squares = call.tensor(4);
  MuonArguments a{};
  set_table(a, call, 4, 5);
  a.values = call.array<float>(0, torch::kFloat32, values);
  a.velocity = call.array<float>(1, torch::kFloat32, values);
  a.gradients = call.array<float>(2, torch::kFloat32, values);
  a.direction = call.array<float>(3, torch::kFloat32, values);
  a.skipped = call.array<float>(6, torch::kFloat32, values);
  a.rate = call.array<double>(7, torch::kFloat64, values);
  a.steps = call.array<double>(8, torch::kFloat64, values);
  for (std::size_t i = 1; i < 4; ++i) {
    TORCH_CHECK(call.tensor(i).numel() == values.numel(), "muon_begin: argument ", i, ": expected ",
                values.numel(), " floats, found ", call.tensor(i).numel());
  }
  const std::vector<double> options = call.at(9).toDoubleVector();
  TORCH_CHECK(options.size() == 8, "muon_begin: expected 8 options, found ", options.size());
  a.momentum = options[0];
  a.nesterov = options[1] != 0 ? 1 : 0;
  a.sgd_momentum = options[2];
  a.weight_decay = options[3];
  a.head_rate = options[4];
  a.bias_rate = options[5];
  a.early_steps = options[6];
  a.peak = options[7];
  run("muon_begin_all", squares, a);
  call.give_nothing();
}

void muon_stack(torch::jit::Stack& stack) {
  Call call(stack, 4);
  const torch::Tensor direction = call.tensor(0);
  MuonArguments a{};
  set_table(a, call, 1, 2);
  set_stack(a, call, 3);
  a.direction = call.array<float>(0, torch::kFloat32, direction);
  run("muon_stack" + suffix_of(call.tensor(3).scalar_type()), call.tensor(1), a);
  call.give_nothing();
}

void muon_end(torch::jit::Stack& stack) {
  Call call(stack, 7);
  const torch::Tensor values = call.tensor(0);
  MuonArguments a{};
  set_table(a, call, 3, 4);
  set_stack(a, call, 2);
  a.values = call.array<float>(0, torch::kFloat32, values);
  a.steps = call.array<double>(1, torch::kFloat64, values);
  a.skipped = call.array<float>(5, torch::kFloat32, values);
  a.rate = call.array<double>(6, torch::kFloat64, values);
  run("muon_end" + suffix_of(call.tensor(2).scalar_type()), call.tensor(3), a);
  call.give_nothing();
}

}  // namespace tandem::gpu
