#include "device_choice.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda_build.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"

namespace tandem::device {

TANDEM_JSON_STRUCT(Gpu, index, name, bus_id, uuid, memory_bytes)
TANDEM_JSON_STRUCT(GpuView, state, reason, driver_version, gpus)
TANDEM_JSON_STRUCT(RankGpus, rank, host, local_rank, local_size, view)

}  // namespace tandem::device

namespace tandem::app {
namespace {

Json to_json(const device::RankGpus& rank) {
  Json json = rank;
  if (rank.visible_devices) json["visible_devices"] = *rank.visible_devices;
  return json;
}

device::RankGpus rank_from(const Json& json) {
  auto rank = json.get<device::RankGpus>();
  if (json.contains("visible_devices")) rank.visible_devices = json["visible_devices"];
  return rank;
}

Json to_json(const std::vector<device::GpuBinding>& bindings) {
  Json gpus = Json::array();
  for (const device::GpuBinding& binding : bindings) {
    gpus.push_back(binding.gpu ? Json(*binding.gpu) : Json(nullptr));
  }
  return gpus;
}

// This rank's entry of `gpus`, which has one for each rank.
device::GpuBinding binding_of(const Job& job, const Json& gpus) {
  const Json& mine = gpus.at(static_cast<std::size_t>(job.topology.rank));
  if (mine.is_null()) return {};
  return {mine.get<device::Gpu>()};
}

}  // namespace

device::RankGpus look_at_gpus(const Job& job) {
  device::RankGpus rank;
  rank.rank = job.topology.rank;
  rank.host = job.topology.host;
  rank.local_rank = job.topology.local_rank;
  rank.local_size = job.topology.local_size;
  look_at_gpus(rank);
  return rank;
}

void look_at_gpus(device::RankGpus& rank) {
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) rank.visible_devices = visible;
  rank.view = device::look_for_gpus(cuda_of_build());
}

void DeviceChoice::take_cpu() {
  mine.gpu.reset();
  backend = device::Backend::kMpi;
  std::fill(devices.begin(), devices.end(), mine.text());
}

Json gpus_to_json(const std::vector<device::Gpu>& gpus) { return gpus; }

device::GpuDecision decide_by_default(const std::vector<device::RankGpus>& ranks) {
  try {
    return device::bind_gpus({}, cuda_of_build(), ranks);
  } catch (const UnavailableError& error) {
    device::GpuDecision decision;
    decision.bindings.resize(ranks.size());
    decision.warnings.emplace_back(error.what());
    return decision;
  }
}

std::vector<device::RankGpus> gather_gpus(Job& job, const device::RankGpus& mine) {
  std::vector<device::RankGpus> ranks;
  for (const std::string& text : job.world.gather_strings(dump_any_bytes(to_json(mine)))) {
    ranks.push_back(rank_from(Json::parse(text)));
  }
  return ranks;
}

device::GpuBinding gpu_by_place(Job& job, const std::vector<device::RankGpus>& ranks) {
  const Json gpus = to_json(device::gpus_by_place(ranks));
  return binding_of(job, Json::parse(job.world.broadcast_string(dump_any_bytes(gpus))));
}

DeviceChoice choose_device(Job& job, const device::DeviceRequest& request) {
  DeviceChoice choice;
  if (request.device == device::DeviceKind::kCpu) {
    choice.devices.assign(static_cast<std::size_t>(job.topology.world), choice.mine.text());
    return choice;
  }
  const std::vector<device::RankGpus> ranks = gather_gpus(job, look_at_gpus(job));
  device::GpuDecision decision;
  Json shared;
  comm::agree_on_rank_0(job.world, [&] {
    decision = device::bind_gpus(request, cuda_of_build(), ranks);
    for (const device::GpuBinding& binding : decision.bindings) {
      choice.devices.push_back(binding.text());
    }
    shared = {{"backend", decision.backend}, {"gpus", to_json(decision.bindings)}};
  });
  for (const std::string& warning : decision.warnings) job.warn(warning);
  choice.note = decision.note;
  shared = Json::parse(job.world.broadcast_string(dump_any_bytes(shared)));
  choice.backend = shared.at("backend");
  choice.mine = binding_of(job, shared.at("gpus"));
  return choice;
}

}  // namespace tandem::app
