#include "tandem/train/shared_optimizer.hpp"

#include <utility>

#include "arena_parts.hpp"
#include "optimizer_loops.hpp"
#include "tandem/comm/host_arrays.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/host_copy.hpp"
#include "tandem/train/tensor_names.hpp"

namespace tandem::train {
namespace {

constexpr char kMuon[] = "muon";

std::vector<std::string> state_names(const OptimizerOptions& options) {
  if (options.name == kMuon) return {"velocity"};
  std::vector<std::string> names;
  for (const StateArray& each : make_optimizer(options, 0)->state()) names.push_back(each.name);
  return names;
}

torch::Tensor of_part(const torch::Tensor& flat, const ArenaPart& part) {
  return flat.narrow(0, static_cast<std::int64_t>(part.first),
                     static_cast<std::int64_t>(part.count));
}

struct Part {
  ArenaPart range;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<torch::Tensor> arrays;     // its elements of the weights and of the state
  std::vector<std::uint64_t> checksums;  // of the arrays, since the last update
};

class SharedOptimizer final : public Optimizer {
 public:
  SharedOptimizer(ParameterArena& arena, std::vector<std::string> names, std::vector<Part> parts)
      : arena_(arena), parts_(std::move(parts)) {
    const torch::Tensor& values = arena.flat_values();
    for (std::string& name : names) {
      std::shared_ptr<float> memory = arena.host_arrays()->array(1 + state_.size());
      state_.push_back({std::move(name), flat_in(std::move(memory), values)});
    }
    for (Part& part : parts_) {
      for (const StateArray& each : state_) part.arrays.push_back(of_part(each.values, part.range));
      part.optimizer->use_state(part.arrays);
      part.arrays.insert(part.arrays.begin(), of_part(values, part.range));
      part.checksums = checksums_of(part);
    }
  }

  void step(const torch::Tensor&, const torch::Tensor& gradients, double learning_rate,
            const torch::Tensor& skipped) override {
    if (skipped.defined()) throw InternalError("a CPU's optimizer is not told to leave a step out");
    for (Part& part : parts_) {
      note_foreign_write(part);
      part.optimizer->step(part.arrays.front(), of_part(gradients, part.range), learning_rate);
      part.checksums = checksums_of(part);
    }
    ++steps_;
    arena_.host_arrays()->synchronize();
  }

  std::vector<StateArray> state() override { return state_; }
  std::uint64_t steps() const override { return steps_; }
  void set_steps(std::uint64_t steps) override {
    steps_ = steps;
    for (Part& part : parts_) {
      part.optimizer->set_steps(steps);
      part.checksums = checksums_of(part);
    }
  }

  bool is_shared() const override { return true; }
  std::string find_foreign_write() override {
    for (const Part& part : parts_) note_foreign_write(part);
    return foreign_write_;
  }

 private:
  static std::vector<std::uint64_t> checksums_of(const Part& part) {
    std::vector<std::uint64_t> checksums;
    for (const torch::Tensor& each : part.arrays) checksums.push_back(checksum(floats_of(each)));
    return checksums;
  }

  void note_foreign_write(const Part& part) {
    if (!foreign_write_.empty()) return;
    const std::vector<std::uint64_t> now = checksums_of(part);
    for (std::size_t array = 0; array < now.size(); ++array) {
      if (now[array] == part.checksums[array]) continue;
      const std::string& tensor = arena_.slots()[part.range.slot].name;
      foreign_write_ = array == 0 ? tensor : optimizer_tensor_name(state_[array - 1].name, tensor);
      return;
    }
  }

  ParameterArena& arena_;
  std::vector<Part> parts_;
  std::vector<StateArray> state_;
  std::uint64_t steps_ = 0;
  std::string foreign_write_;  // the first that was found
};

}  // namespace

std::size_t state_array_count(const OptimizerOptions& options) {
  return state_names(options).size();
}

std::unique_ptr<Optimizer> make_shared_optimizer(const OptimizerOptions& options,
                                                 ParameterArena& arena, double peak,
                                                 const std::vector<std::string>& early) {
  const auto rank = static_cast<std::size_t>(arena.host_arrays()->rank());
  const auto ranks = static_cast<std::size_t>(arena.host_arrays()->ranks());
  std::vector<Part> parts;
  if (options.name == kMuon) {
    const std::vector<MuonPiece> pieces = muon_pieces_of(arena, early);
    for (const std::size_t slot : muon_slots_of(pieces, rank, ranks)) {
      const ParameterArena::Slot& of_part = arena.slots()[slot];
      parts.push_back({{slot, of_part.offset, of_part.count},
                       make_muon_of_piece(options, pieces[slot], peak),
                       {},
                       {}});
    }
  } else {
    for (const ArenaPart& part : equal_parts_of(arena, rank, ranks)) {
      parts.push_back({part, make_optimizer(options, part.count), {}, {}});
    }
  }
  return std::make_unique<SharedOptimizer>(arena, state_names(options), std::move(parts));
}

}  // namespace tandem::train
