#include "memory_plan.hpp"

#include <algorithm>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/model/tensor_memory.hpp"

namespace tandem::app {
namespace {

// The batches that a loader has ready, the one that it prepares, and the one in use.
constexpr std::uint64_t kBatchesInMemory = data::BatchLoader::kBatchesAhead + 2;

std::uint64_t quotient_up(std::uint64_t count, std::uint64_t parts) {
  return (count + parts - 1) / parts;
}

// The bytes of this process, without shared memory.
std::uint64_t own_memory() {
  const std::string status = read_kernel_file("/proc/self/status").value_or("");
  return field_of(status, "RssAnon").value_or(0);
}

std::uint64_t less(std::uint64_t from, std::uint64_t by) { return from - std::min(from, by); }

// "2 x 1.5 MB of weights (--share-weights)"; empty without bytes.
void add_part(std::uint64_t bytes, int times, const std::string& what,
              std::vector<std::string>& parts) {
  if (bytes == 0) return;
  parts.push_back((times > 1 ? std::to_string(times) + " x " : "") + format_bytes(bytes) + " of " +
                  what);
}

}  // namespace

DataMemory DataMemory::of(const train::TrainConfig& config, const data::DatasetInfo& info,
                          int world, std::uint64_t images) {
  const auto ranks = static_cast<std::uint64_t>(world);
  const std::uint64_t micro_batches =
      std::max<std::uint64_t>(1, config.micro_batches_per_step(ranks));
  const std::uint64_t of_batch = config.global_batch_size > 0
                                     ? quotient_up(config.global_batch_size, micro_batches)
                                     : config.batch_size;
  const std::uint64_t image =
      sizeof(float) * (info.shape.pixels() + (info.multi_label ? info.classes.size() : 0)) +
      (info.multi_label ? 0 : sizeof(std::int64_t));
  DataMemory memory;
  memory.images = images;
  memory.train_batches = kBatchesInMemory * std::min(of_batch, info.train_count) * image;
  if (config.eval_every == 0) return memory;
  // An evaluation is of the test images or of those that are held out.
  const auto held_out =
      static_cast<std::uint64_t>(config.validation_split * static_cast<double>(info.train_count));
  const std::uint64_t evaluated = std::max(info.test_count, held_out);
  const std::uint64_t at_once = std::min(config.eval_batch_size, evaluated);
  const std::uint64_t batches = quotient_up(quotient_up(evaluated, at_once), ranks);
  memory.eval_batches = std::min(batches, kBatchesInMemory) * at_once * image;
  return memory;
}

StateMemory least_state(const train::TrainConfig& config, std::uint64_t parameters) {
  const std::string& optimizer = config.optimizer.name;
  const bool has_two = optimizer == "adamw" || optimizer == "lamb";
  const bool has_one = !has_two && (optimizer != "sgd" || config.optimizer.momentum > 0);
  const std::uint64_t kept = (has_two ? 2 : has_one ? 1 : 0) + (config.ema > 0 ? 1 : 0);
  const std::uint64_t bytes = sizeof(float) * parameters;
  if (config.share_weights) return {bytes, (1 + kept) * bytes};
  return {(2 + kept) * bytes};
}

void require_memory(const DataMemory& data, const StateMemory& state, int ranks,
                    const MemoryRoom& room) {
  const std::uint64_t of_rank = data.train_batches + data.eval_batches + state.of_rank;
  const std::uint64_t needed =
      data.images + state.of_host + static_cast<std::uint64_t>(ranks) * of_rank;
  if (needed <= room.bytes) return;
  std::vector<std::string> parts;
  add_part(
      data.images, 1,
      "images (picture files: --cache-mb; smaller ones: tandem pack --size or --store encoded)",
      parts);
  add_part(data.train_batches, ranks, "training batches (--batch-size, --accumulate)", parts);
  add_part(data.eval_batches, ranks, "evaluation batches (--eval-batch-size)", parts);
  add_part(state.of_rank, ranks, "weights, gradients and optimizer (--share-weights)", parts);
  add_part(state.of_host, 1, "weights and optimizer that the host shares", parts);
  throw UnavailableError("no memory for this job on this host: it needs at least " +
                         format_bytes(needed) + ", " + room.text() + ": " + join(parts, ", ") +
                         "; make a part smaller by its option, start fewer ranks on the host, or "
                         "ask for more (sbatch --mem, docker run --memory)");
}

std::uint64_t MemoryPlan::of_rank() const {
  return data.cache + data.train_batches + data.eval_batches + state.of_rank + activations +
         program;
}

std::uint64_t MemoryPlan::of_host() const {
  return data.images + state.of_host + static_cast<std::uint64_t>(ranks) * of_rank();
}

Json MemoryPlan::to_json() const {
  return {{"ranks_per_host", ranks},
          {"images_bytes", data.images},
          {"cache_bytes", data.cache},
          {"train_batches_bytes", data.train_batches},
          {"eval_batches_bytes", data.eval_batches},
          {"weights_bytes", state.of_rank},
          {"shared_weights_bytes", state.of_host},
          {"activations_bytes", activations},
          {"program_bytes", program},
          {"rank_bytes", of_rank()},
          {"host_bytes", of_host()},
          {"limit_bytes", limit == 0 ? Json(nullptr) : Json(limit)},
          {"limit_is_of_group", is_of_group}};
}

std::string MemoryPlan::to_text() const {
  const auto many = static_cast<std::uint64_t>(ranks);
  std::vector<std::vector<std::string>> rows{{"memory", "a rank", "a host"}};
  const auto add = [&](const std::string& part, std::uint64_t rank, std::uint64_t host) {
    rows.push_back({part, rank == 0 ? "-" : format_bytes(rank), format_bytes(host)});
  };
  add("images", 0, data.images);
  if (data.cache > 0) add("cache of picture files", data.cache, many * data.cache);
  add("batches of training", data.train_batches, many * data.train_batches);
  if (data.eval_batches > 0) {
    add("batches of evaluation", data.eval_batches, many * data.eval_batches);
  }
  add("weights, gradients, optimizer", state.of_rank, state.of_host + many * state.of_rank);
  add(program > 0 ? "activations" : "activations and program", activations, many * activations);
  if (program > 0) add("program", program, many * program);
  add("all", of_rank(), of_host());
  if (limit > 0) add(is_of_group ? "limit of the control group" : "memory of the host", 0, limit);
  return format_table(rows);
}

// Unused blocks of the allocator would hide what the steps allocate.
MemoryMeter::MemoryMeter() {
  model::release_unused_memory();
  before_ = own_memory();
}

MemoryPlan MemoryMeter::finish(Job& job, const DataMemory& data, const StateMemory& state) const {
  const auto most = [&](std::uint64_t mine) {
    return job.world.all_reduce_value<std::uint64_t>(mine, comm::Reduction::kMax);
  };
  MemoryPlan plan;
  plan.ranks = static_cast<int>(most(static_cast<std::uint64_t>(job.node.size())));
  plan.data = data;
  plan.data.images = most(data.images);
  plan.data.cache = most(data.cache);
  plan.state = state;
  // Pages count from their first use, so a part of this may not be in `before_`.
  const std::uint64_t counted = less(state.of_rank, state.shared_gradients) + data.train_batches;
  plan.activations = most(less(own_memory(), std::max(before_, counted)));
  plan.program = most(less(before_, counted));
  const auto of_group = Cgroup().read().memory_limit_bytes;
  const std::string host = read_kernel_file("/proc/meminfo").value_or("");
  const std::uint64_t of_host = field_of(host, "MemTotal").value_or(0);
  plan.is_of_group = of_group && (of_host == 0 || *of_group < of_host);
  plan.limit = plan.is_of_group ? *of_group : of_host;
  return plan;
}

}  // namespace tandem::app
