#include <algorithm>

#include "tandem/model/fused_operators.hpp"

namespace tandem::model::fused {

MuonPlan plan_muon(const std::vector<MuonPiece>& pieces) {
  MuonPlan plan;
  plan.table =
      torch::zeros({static_cast<std::int64_t>(pieces.size()), kMuonColumns}, torch::kInt64);
  auto* row = plan.table.data_ptr<std::int64_t>();
  auto& [matrices, most_rows, most_columns] = plan.stack;
  for (const MuonPiece& piece : pieces) {
    row[kOffset] = piece.offset;
    row[kCount] = piece.count;
    row[kRows] = piece.rows;
    row[kKind] = static_cast<std::int64_t>(piece.kind);
    row[kEarly] = piece.early ? 1 : 0;
    row[kKeepsNorm] = piece.keeps_norm ? 1 : 0;
    row[kFirstBlock] = plan.blocks;
    plan.blocks += (piece.count + kMuonBlock - 1) / kMuonBlock;
    if (piece.kind == MuonPiece::Kind::kMatrix) {
      row[kPlace] = matrices++;
      most_rows = std::max(most_rows, std::min(piece.rows, piece.columns()));
      most_columns = std::max(most_columns, std::max(piece.rows, piece.columns()));
    }
    row += kMuonColumns;
  }
  return plan;
}

}  // namespace tandem::model::fused
