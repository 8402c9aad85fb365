// The engine of tandem bench loader: images a second of each rank's loader while all prepare.
#include <chrono>
#include <memory>
#include <utility>

#include "engine/data_set_checks.hpp"
#include "engine/entry.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {
namespace {

constexpr data::ImageShape kShapeOfNoise{3, 32, 32};
constexpr std::uint32_t kImagesOfNoise = 5000;

// Pictures of noise, in place of a data set.
struct Noise {
  std::vector<std::uint8_t> pixels =
      std::vector<std::uint8_t>(kImagesOfNoise * kShapeOfNoise.pixels());
  std::vector<data::Label> labels = std::vector<data::Label>(kImagesOfNoise);
  Noise() {
    CounterRandom random{1};
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.next());
  }
  data::ImagesView view() const {
    return {kShapeOfNoise, {pixels.data(), pixels.size()}, {labels.data(), labels.size()}};
  }
};

// The images/s of this rank's loader when each batch is taken as soon as it is ready.
double rate_of_loader(Job& job, const LoaderRequest& request, const data::ImagesView& view,
                      std::shared_ptr<const data::LaneOrder> lanes,
                      const data::Transform& transform) {
  // The clock starts after the batches that the loader prepares ahead.
  constexpr std::uint64_t kFirst = data::BatchLoader::kBatchesAhead + 2;
  data::TrainingPlan plan;
  plan.image_count = static_cast<std::uint32_t>(view.labels.size());
  plan.global_batch = request.batch_size * static_cast<std::uint64_t>(job.topology.world);
  plan.seed = 1;
  plan.mixes = request.augment.mixes();
  plan.steps = kFirst + request.steps;
  plan.lanes = std::move(lanes);
  data::BatchLoader loader(
      view, transform, {request.augment, plan.seed, request.decoding},
      std::make_unique<data::TrainingSampler>(plan, job.topology.rank, job.topology.world),
      request.threads);
  for (std::uint64_t step = 0; step < kFirst; ++step) loader.next();
  job.world.barrier();
  const auto begin = std::chrono::steady_clock::now();
  std::size_t images = 0;
  while (const auto batch = loader.next()) {
    images += batch->size();
    job.touch();
  }
  return static_cast<double>(images) / seconds_since(begin);
}

// On rank 0.
void print_loader(const Job& job, const LoaderRequest& request,
                  const std::vector<comm::Topology>& ranks, const std::vector<double>& rates) {
  double sum = 0;
  for (const double rate : rates) sum += rate;
  if (request.json) {
    print_line(Json{
        {"form", "loader"},
        {"ranks", job.topology.world},
        {"batch_size", request.batch_size},
        {"images_per_second", sum},
        {"images_per_second_of_ranks",
         rates}}.dump());
    return;
  }
  const auto count = [](double rate) { return format_count(static_cast<std::int64_t>(rate)); };
  std::vector<std::vector<std::string>> rows{{"rank", "host", "images/s", "us/image"}};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rows.push_back(
        {std::to_string(i), ranks[i].host, count(rates[i]), format_fixed(1e6 / rates[i], 2)});
  }
  print_line(format_table(rows) + "\nloader: " + count(sum) + " images/s of all ranks at a time");
}

}  // namespace

int time_loader(Job& job, const LoaderRequest& request) {
  double rate = 0;
  if (request.data.empty()) {
    const Noise noise;
    const std::vector<double> half(static_cast<std::size_t>(kShapeOfNoise.channels), 0.5);
    rate = rate_of_loader(job, request, noise.view(), nullptr,
                          data::Transform(kShapeOfNoise, request.layout, half, half));
  } else {
    const train::ImageStore images(request.data, job.world, job.node, {0, request.reading},
                                   [&] { job.touch(); });
    warn_of_data_set(job, request.data, images);
    const auto lanes = images.lanes(request.reading);
    warn_of_cache(job, images, lanes.get(), request.batch_size);
    const data::DatasetInfo& info = images.info();
    comm::agree(job.world, [&] { request.augment.require_shape(info.shape); });
    rate = rate_of_loader(job, request, images.view(data::Split::kTrain), lanes,
                          data::Transform(info.shape, request.layout, info.mean, info.std));
  }
  const std::vector<double> rates = job.world.all_gather(rate);
  const std::vector<comm::Topology> ranks = comm::gather_topology(job.world, job.topology);
  comm::agree_on_rank_0(job.world, [&] { print_loader(job, request, ranks, rates); });
  return 0;
}

}  // namespace tandem::app
