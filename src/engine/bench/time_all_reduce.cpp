// The engine of tandem bench allreduce: times the all-reduce of gradients, and MPI's beside it.
#include <memory>
#include <optional>

#include "all_reduce_timing.hpp"
#include "engine/compute.hpp"
#include "engine/entry.hpp"
#include "engine/gradient_transport.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/allreduce/all_reduce.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/cost_model.hpp"
#include "tandem/train/device_bf16_all_reduce.hpp"

namespace tandem::app {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;

torch::Tensor first_of(const torch::Tensor& values, std::size_t count) {
  return values.slice(0, 0, static_cast<std::int64_t>(count));
}

// The sums in the memory of a GPU, over the collectives between GPUs.
class DeviceSums {
 public:
  // As many values on `device` as `host`, which is the other end of the copies. Both must outlive
  // this object. `as_bf16`: the sums are sent as bfloat16.
  DeviceSums(comm::Collectives& between_gpus, torch::Device device, Span<float> host, bool as_bf16)
      : between_gpus_(between_gpus),
        host_(torch::from_blob(host.data(), {static_cast<std::int64_t>(host.size())})),
        values_(torch::zeros({host_.numel()}, device)) {
    if (as_bf16) rounded_ = std::make_unique<train::DeviceBf16AllReduce>(between_gpus, values_);
  }

  comm::Collectives& collectives() { return rounded_ ? *rounded_ : between_gpus_; }

  SumPlace place() {
    SumPlace place;
    place.first = values_.data_ptr<float>();
    place.put = [this](std::size_t count) {
      first_of(values_, count).copy_(first_of(host_, count));
    };
    place.fetch = [this](std::size_t count) {
      first_of(host_, count).copy_(first_of(values_, count));
    };
    // Reading a value waits for all work that the device was given before.
    place.finish = [this] { first_of(values_, 1).item<float>(); };
    return place;
  }

 private:
  comm::Collectives& between_gpus_;
  const torch::Tensor host_;
  const torch::Tensor values_;
  std::unique_ptr<comm::Collectives> rounded_;
};

// One rank exchanges nothing, in MPI either, so its row has no rates and no comparison.
std::vector<std::string> row_of(const AllReduceTiming& timing, int ranks) {
  const auto micro = [](double seconds) { return format_fixed(seconds / kMicro, 1); };
  const auto giga = [](double rate) { return format_fixed(rate / kGiga, 3); };
  return {std::to_string(timing.bytes),
          micro(timing.least),
          micro(timing.mean),
          micro(timing.most),
          ranks > 1 ? giga(algorithm_bandwidth(timing.bytes, timing.mean)) : "-",
          ranks > 1 ? giga(bus_bandwidth(timing.bytes, timing.mean, ranks)) : "-",
          std::to_string(timing.wrong),
          ranks > 1 ? micro(timing.bare) : "-",
          ranks > 1 ? format_fixed(timing.ratio, 3) : "-"};
}

Json json_of(const AllReduceTiming& timing, int ranks) {
  const auto of_many = [ranks](double value) { return ranks > 1 ? Json(value) : Json(nullptr); };
  return {{"bytes", timing.bytes},
          {"seconds_min", timing.least},
          {"seconds_mean", timing.mean},
          {"seconds_max", timing.most},
          {"algbw_bytes_per_second", of_many(algorithm_bandwidth(timing.bytes, timing.mean))},
          {"busbw_bytes_per_second", of_many(bus_bandwidth(timing.bytes, timing.mean, ranks))},
          {"wrong", timing.wrong},
          {"bare_seconds_mean", of_many(timing.bare)},
          {"ratio_to_bare", of_many(timing.ratio)},
          {"pairs", timing.pairs}};
}

train::AlphaBetaCost fit_of(const std::vector<AllReduceTiming>& timings) {
  std::vector<train::MeasuredSum> sums;
  for (const AllReduceTiming& timing : timings) {
    sums.push_back({static_cast<double>(timing.bytes), timing.most});
  }
  return train::fit_sums(sums);
}

// On rank 0.
void print_timings(const Job& job, const AllReduceRequest& request, const std::string& transport,
                   const std::vector<AllReduceTiming>& timings) {
  const int ranks = job.topology.world;
  const train::AlphaBetaCost fit = fit_of(timings);
  if (request.json) {
    Json sizes = Json::array();
    for (const AllReduceTiming& timing : timings) sizes.push_back(json_of(timing, ranks));
    const Json object{
        {"form", "allreduce"},
        {"ranks", ranks},
        {"algorithm", comm::all_reduce_algorithm_name(request.algorithm)},
        {"grad_dtype", request.as_bf16 ? "bf16" : "fp32"},
        {"transport", transport},
        {"fit", {{"latency_seconds", fit.latency}, {"seconds_per_byte", fit.seconds_per_byte}}},
        {"sizes", sizes}};
    print_line(object.dump());
    return;
  }
  std::vector<std::vector<std::string>> rows{{"bytes", "min us", "mean us", "max us", "algbw GB/s",
                                              "busbw GB/s", "wrong", "MPI_Allreduce us", "ratio"}};
  for (const AllReduceTiming& timing : timings) rows.push_back(row_of(timing, ranks));
  print_line("sums over " + format_quantity(ranks, "rank") + " by " + transport +
             "; times are of one sum; min and max are over ranks");
  print_line(format_table(rows) +
             (ranks > 1 ? "\na sum takes " + format_fixed(fit.latency / kMicro, 1) + " us and " +
                              format_fixed(fit.seconds_per_byte * 1e6 / kMicro, 1) + " us per MB"
                        : "\none rank exchanges nothing, so there is no rate and no comparison"));
}

}  // namespace

int time_all_reduce(Job& job, const AllReduceRequest& request) {
  DeviceChoice choice = choose_device(job, request.device.request);
  const torch::Device device = open_device(job, request.device.request, choice, {});
  const auto between_gpus = make_device_collectives(job, request.device, choice, device);
  std::vector<float> values;
  std::optional<DeviceSums> on_gpu;
  comm::agree(job.world, [&] {
    values.resize(request.most / sizeof(float));
    if (between_gpus == nullptr) return;
    require_gpu_transport(request.algorithm, request.as_bf16, between_gpus.get());
    on_gpu.emplace(*between_gpus, device, Span<float>(values), request.as_bf16);
  });
  comm::AllReduce made;
  if (!on_gpu) {
    made = comm::make_all_reduce(job.world, job.node, Span<float>(values),
                                 {request.algorithm, request.as_bf16});
  }
  comm::Collectives& sums = on_gpu ? on_gpu->collectives() : *made.collectives;
  const SumPlace place = on_gpu ? on_gpu->place() : SumPlace{};
  float* const first = made.shared_gradients ? made.shared_gradients.get() : values.data();
  std::vector<AllReduceTiming> timings;
  std::uint64_t wrong = 0;
  for (const std::size_t bytes : sizes_between(request.least, request.most)) {
    timings.push_back(measure_all_reduce(
        job.world, sums,
        {{first, values.size()}, bytes, request.seconds, [&] { job.touch(); }, place}));
    sums.reset_error_feedback();
    wrong += timings.back().wrong;
  }
  comm::agree_on_rank_0(job.world, [&] {
    print_timings(job, request, sums.name(), timings);
    if (wrong == 0) return;
    throw DisagreementError("bench allreduce: " + format_count(wrong) +
                            " values of all ranks differ from the expected sum; the network or "
                            "MPI is broken; fix: run tandem doctor like this command");
  });
  return 0;
}

}  // namespace tandem::app
