#include "epoch_accounting.hpp"

#include "tandem/core/digest.hpp"

namespace tandem::train {

Totals expected_accounting(const data::TrainingPlan& plan, std::uint64_t last_step) {
  const std::uint64_t epoch = last_step / plan.steps_per_epoch();
  Totals expected;
  for (std::uint64_t step = epoch * plan.steps_per_epoch(); step <= last_step; ++step) {
    expected.images += static_cast<std::int64_t>(plan.images_in_step(step));
  }
  if (static_cast<std::uint64_t>(expected.images) == plan.image_count) {
    expected.id_hash = image_id_hash_of_all(plan.image_count);
    return expected;
  }
  const std::vector<std::uint32_t> order = plan.order_of(epoch);
  for (std::int64_t i = 0; i < expected.images; ++i) {
    expected.id_hash += image_id_hash(order[static_cast<std::size_t>(i)]);
  }
  return expected;
}

Totals reduced(comm::Communicator& comm, Totals totals) {
  comm.reduce(Span<double>(&totals.loss, 1));
  // Unsigned, because the hashes wrap around.
  std::uint64_t counts[4] = {static_cast<std::uint64_t>(totals.correct),
                             static_cast<std::uint64_t>(totals.images),
                             static_cast<std::uint64_t>(totals.counted_images), totals.id_hash};
  comm.reduce(Span<std::uint64_t>(counts, 4));
  totals.correct = static_cast<std::int64_t>(counts[0]);
  totals.images = static_cast<std::int64_t>(counts[1]);
  totals.counted_images = static_cast<std::int64_t>(counts[2]);
  totals.id_hash = counts[3];
  return totals;
}

}  // namespace tandem::train
