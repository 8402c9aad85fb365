#include "tandem/train/reducer.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {

std::vector<Bucket> make_buckets(const std::vector<ParameterArena::Slot>& slots,
                                 std::size_t arena_floats, std::size_t bucket_bytes) {
  std::vector<Bucket> buckets;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const std::size_t end = slot + 1 < slots.size() ? slots[slot + 1].offset : arena_floats;
    const bool full = !buckets.empty() && bucket_bytes > 0 &&
                      buckets.back().count * sizeof(float) >= bucket_bytes;
    if (buckets.empty() || full) buckets.push_back({0, slots[slot].offset, 0});
    ++buckets.back().slot_count;
    buckets.back().count = end - buckets.back().offset;
  }
  return buckets;
}

namespace {

constexpr std::size_t kMinPieceBytes = std::size_t{1} << 20;

}  // namespace

// The accumulators are kept alive here: autograd itself holds them weakly.
struct Reducer::Hooks {
  struct Hook {
    std::shared_ptr<torch::autograd::Node> accumulator;
    std::uintptr_t key;
  };
  std::vector<Hook> installed;
  ~Hooks() {
    for (const Hook& hook : installed) hook.accumulator->del_post_hook(hook.key);
  }
};

Reducer::Reducer(ParameterArena& arena, comm::Collectives& comm, std::size_t bucket_bytes)
    : arena_(arena),
      comm_(comm),
      buckets_(make_buckets(arena.slots(), arena.gradients().size(), bucket_bytes)),
      piece_(comm.has_async_progress() || bucket_bytes == 0
                 ? arena.gradients().size()
                 : std::max(bucket_bytes, kMinPieceBytes) / sizeof(float)),
      gradients_seen_(arena.slots().size(), 0),
      slots_missing_(buckets_.size(), 0),
      hooks_(std::make_unique<Hooks>()) {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    bucket_of_slot_.insert(bucket_of_slot_.end(), buckets_[bucket].slot_count, bucket);
  }
  if (buckets_.size() > 1 && comm.size() > 1 && comm.is_test_thread_safe()) {
    progress_.emplace([this] { return comm::test_all(in_flight_); });
  }
  for (std::size_t slot = 0; slot < arena.slots().size(); ++slot) {
    auto accumulator = torch::autograd::impl::grad_accumulator(arena.slots()[slot].parameter);
    const std::uintptr_t key =
        accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, slot](const torch::autograd::variable_list& outputs,
                         const torch::autograd::variable_list&) {
              mark_ready(slot);
              return outputs;
            }));
    hooks_->installed.push_back({std::move(accumulator), key});
  }
}

Reducer::~Reducer() = default;

std::string Reducer::describe() const {
  return "gradients in " + format_quantity(buckets_.size(), "bucket");
}

void Reducer::begin_micro_batch(std::uint64_t index, std::uint64_t count, bool has_images) {
  if (index == 0) {
    in_flight_.clear();  // of a step that threw, and is made again
    arena_.begin_gradients();
  }
  armed_ = index + 1 == count;
  if (!armed_) return;
  expect_gradients_ = has_images;
  next_bucket_ = 0;
  std::fill(gradients_seen_.begin(), gradients_seen_.end(), 0);
  for (std::size_t i = 0; i < buckets_.size(); ++i) slots_missing_[i] = buckets_[i].slot_count;
  for (std::size_t slot = 0; slot < gradients_seen_.size(); ++slot) {
    if (arena_.slots()[slot].parameter.requires_grad()) continue;
    gradients_seen_[slot] = 1;  // not trained any more: its gradient stays 0
    --slots_missing_[bucket_of_slot_[slot]];
  }
}

void Reducer::mark_ready(std::size_t slot) {
  if (!armed_) return;  // an earlier micro-batch: more will be added
  if (++gradients_seen_[slot] > 1) {
    throw InternalError("parameter " + arena_.slots()[slot].name +
                        " got its gradient twice in one step");
  }
  --slots_missing_[bucket_of_slot_[slot]];
  if (!comm_.has_async_progress() && !progress_) comm::test_all(in_flight_);
  // The last bucket is complete only when backward is; finish() starts it.
  while (next_bucket_ + 1 < buckets_.size() && slots_missing_[next_bucket_] == 0) {
    start_bucket(next_bucket_++);
  }
}

std::unique_lock<std::mutex> Reducer::hold() {
  return progress_ ? progress_->hold() : std::unique_lock<std::mutex>();
}

void Reducer::start_bucket(std::size_t bucket) {
  const Bucket& slice = buckets_[bucket];
  const auto lock = hold();
  for (std::size_t at = 0; at < slice.count; at += piece_) {
    in_flight_.push_back(comm_.iall_reduce(
        arena_.gradients().subspan(slice.offset + at, std::min(piece_, slice.count - at))));
  }
  if (progress_) progress_->begin();
}

void Reducer::finish() {
  armed_ = false;
  arena_.complete_gradients();
  for (std::size_t slot = 0; expect_gradients_ && slot < gradients_seen_.size(); ++slot) {
    if (gradients_seen_[slot] == 0) {
      throw InternalError("parameter " + arena_.slots()[slot].name +
                          " got no gradient: the network's output does not depend on it");
    }
  }
  if (buckets_.size() == 1) {
    comm_.all_reduce(arena_.gradients());
    return;
  }
  while (next_bucket_ < buckets_.size()) start_bucket(next_bucket_++);
  const auto lock = hold();
  if (progress_) progress_->finish();
  if (comm_.has_async_progress()) {
    for (const auto& request : in_flight_) request->wait();
  } else {
    // In turn: a sum advances only by its own test().
    while (!comm::test_all(in_flight_)) {
    }
  }
  in_flight_.clear();
}

}  // namespace tandem::train
