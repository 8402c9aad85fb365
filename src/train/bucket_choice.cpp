#include "tandem/train/bucket_choice.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "tandem/train/host_copy.hpp"
#include "tandem/train/objective.hpp"
#include "tandem/train/reducer.hpp"

namespace tandem::train {
namespace {

// The networks have 8 to 45 MB of gradients, of which the first bucket must be done early.
constexpr double kSizes[] = {0, 1, 2, 4};
constexpr std::size_t kSteps = 5;
constexpr double kMegabyte = 1 << 20;
// What is not faster by this share is taken for noise, and the earlier size stays.
constexpr double kGain = 0.02;

class Rehearser {
 public:
  Rehearser(comm::Communicator& world, ParameterArena& arena, model::Network& network,
            const Rehearsal& rehearsal)
      : world_(world), arena_(arena), network_(network), rehearsal_(rehearsal) {
    const auto& shape = rehearsal.shape;
    images_ = torch::full(
        {static_cast<std::int64_t>(rehearsal.images), shape.channels, shape.height, shape.width},
        0.5, torch::TensorOptions(arena.device()));
    if (rehearsal.channels_last) images_ = images_.contiguous(at::MemoryFormat::ChannelsLast);
    labels_ = torch::zeros({static_cast<std::int64_t>(rehearsal.images)},
                           torch::TensorOptions(torch::kInt64).device(arena.device()));
    for (const torch::Tensor& buffer : network.buffers()) buffers_.push_back(buffer.clone());
  }

  // Of the slowest rank, in the middle of the steps after the first.
  double seconds_of(GradientExchange& exchange) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < kSteps; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      step(exchange);
      const std::chrono::duration<double> mine = std::chrono::steady_clock::now() - begin;
      const double slowest = world_.all_reduce_value(mine.count(), comm::Reduction::kMax);
      if (i > 0) seconds.push_back(slowest);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  void restore() {
    const torch::NoGradGuard no_grad;
    const std::vector<torch::Tensor> buffers = network_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(buffers_[i]);
    arena_.zero_gradients();
  }

 private:
  void step(GradientExchange& exchange) {
    exchange.begin_part(0, 1, true);
    torch::Tensor logits;
    {
      const model::AutocastScope autocast(rehearsal_.precision, images_.device().type());
      logits = network_.forward(images_);
    }
    summed_cross_entropy(logits, labels_, 0)
        .backward(torch::full({}, 1.0 / static_cast<double>(rehearsal_.images),
                              torch::TensorOptions(images_.device())));
    exchange.end_part();
    exchange.finish();
    on_host(arena_.flat_gradients().slice(0, 0, 1));  // waits for the device
  }

  comm::Communicator& world_;
  ParameterArena& arena_;
  model::Network& network_;
  const Rehearsal rehearsal_;
  torch::Tensor images_;
  torch::Tensor labels_;
  std::vector<torch::Tensor> buffers_;  // as they were
};

}  // namespace

double measure_bucket_mb(comm::Communicator& world, comm::Collectives& carrier,
                         ParameterArena& arena, model::Network& network,
                         const Rehearsal& rehearsal) {
  if (world.size() == 1) return 0;
  Rehearser rehearser(world, arena, network, rehearsal);
  double best = 0;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (const double size : kSizes) {
    Reducer exchange(arena, carrier, static_cast<std::size_t>(size * kMegabyte));
    const double seconds = rehearser.seconds_of(exchange);
    if (seconds > best_seconds * (1 - kGain)) continue;
    best = size;
    best_seconds = seconds;
  }
  rehearser.restore();
  world.broadcast(Span<double>(&best, 1));
  return best;
}

}  // namespace tandem::train
