#include "arena_parts.hpp"

#include <algorithm>
#include <numeric>

#include "muon_banks.hpp"
#include "tandem/comm/host_arrays.hpp"

namespace tandem::train {
namespace {

constexpr std::size_t kFloatsOfPage = comm::HostArrays::kFloatsOfPage;
constexpr std::size_t kMaxFloats = 32 * kFloatsOfPage;  // 128 KiB, of each of 3 or 4 arrays
// The cost of updating one element, in multiplications of a matrix product.
constexpr double kWorkOfElement = 16;

std::size_t begin_of(std::size_t floats, std::size_t rank, std::size_t ranks) {
  const std::size_t pages = (floats + kFloatsOfPage - 1) / kFloatsOfPage;
  return std::min(floats, pages * rank / ranks * kFloatsOfPage);
}

double work_of(const MuonPiece& piece) {
  const double elements = kWorkOfElement * static_cast<double>(piece.count);
  if (piece.kind != MuonPiece::Kind::kMatrix) return elements;
  const MuonBank bank{
      std::min(piece.rows, piece.columns()), std::max(piece.rows, piece.columns()), {piece}};
  return elements + bank.multiplications();
}

}  // namespace

std::vector<ArenaPart> equal_parts_of(const ParameterArena& arena, std::size_t rank,
                                      std::size_t ranks) {
  const auto floats = static_cast<std::size_t>(arena.flat_values().numel());
  const std::size_t begin = begin_of(floats, rank, ranks);
  const std::size_t end = begin_of(floats, rank + 1, ranks);
  const std::vector<ParameterArena::Slot>& slots = arena.slots();
  std::vector<ArenaPart> parts;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const std::size_t end_of_slot = slot + 1 < slots.size() ? slots[slot + 1].offset : floats;
    const std::size_t last = std::min(end, end_of_slot);
    for (std::size_t at = std::max(begin, slots[slot].offset); at < last;) {
      const std::size_t count = std::min(kMaxFloats, last - at);
      parts.push_back({slot, at, count});
      at += count;
    }
  }
  return parts;
}

std::vector<std::size_t> muon_slots_of(const std::vector<MuonPiece>& pieces, std::size_t rank,
                                       std::size_t ranks) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&pieces](std::size_t one, std::size_t other) {
    return work_of(pieces[one]) > work_of(pieces[other]);
  });
  std::vector<double> work(ranks, 0);
  std::vector<std::size_t> mine;
  for (const std::size_t slot : order) {
    const auto least = std::min_element(work.begin(), work.end());
    *least += work_of(pieces[slot]);
    if (least == work.begin() + static_cast<std::ptrdiff_t>(rank)) mine.push_back(slot);
  }
  return mine;
}

}  // namespace tandem::train
