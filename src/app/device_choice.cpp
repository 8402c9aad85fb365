#include "device_choice.hpp"

#include <algorithm>
#include <cstdlib>

#include "cuda_build.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

Json to_json(const comm::Gpu& gpu) {
  return {{"index", gpu.index},
          {"name", gpu.name},
          {"bus_id", gpu.bus_id},
          {"uuid", gpu.uuid},
          {"memory_bytes", gpu.memory_bytes}};
}

comm::Gpu gpu_from(const Json& json) {
  comm::Gpu gpu;
  json.at("index").get_to(gpu.index);
  json.at("name").get_to(gpu.name);
  json.at("bus_id").get_to(gpu.bus_id);
  json.at("uuid").get_to(gpu.uuid);
  json.at("memory_bytes").get_to(gpu.memory_bytes);
  return gpu;
}

Json to_json(const comm::RankGpus& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"local_rank", rank.local_rank},
          {"local_size", rank.local_size},
          {"visible_devices", rank.visible_devices ? Json(*rank.visible_devices) : Json(nullptr)},
          {"state", static_cast<int>(rank.view.state)},
          {"reason", rank.view.reason},
          {"driver_version", rank.view.driver_version},
          {"gpus", gpus_to_json(rank.view.gpus)}};
}

comm::RankGpus rank_from(const Json& json) {
  comm::RankGpus rank;
  json.at("rank").get_to(rank.rank);
  json.at("host").get_to(rank.host);
  json.at("local_rank").get_to(rank.local_rank);
  json.at("local_size").get_to(rank.local_size);
  const Json& visible = json.at("visible_devices");
  if (visible.is_string()) rank.visible_devices = visible.get<std::string>();
  rank.view.state = static_cast<comm::GpuView::State>(json.at("state").get<int>());
  json.at("reason").get_to(rank.view.reason);
  json.at("driver_version").get_to(rank.view.driver_version);
  for (const Json& gpu : json.at("gpus")) rank.view.gpus.push_back(gpu_from(gpu));
  return rank;
}

// The environment may hold any byte.
std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

comm::RankGpus look_at_gpus(const Job& job) {
  comm::RankGpus rank;
  rank.rank = job.topology.rank;
  rank.host = job.topology.host;
  rank.local_rank = job.topology.local_rank;
  rank.local_size = job.topology.local_size;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) rank.visible_devices = visible;
  rank.view = comm::look_for_gpus(cuda_of_build());
  return rank;
}

void DeviceChoice::take_cpu() {
  mine.gpu.reset();
  backend = comm::Backend::kMpi;
  std::fill(devices.begin(), devices.end(), mine.text());
}

Json gpus_to_json(const std::vector<comm::Gpu>& gpus) {
  Json list = Json::array();
  for (const comm::Gpu& gpu : gpus) list.push_back(to_json(gpu));
  return list;
}

std::vector<comm::RankGpus> gather_gpus(Job& job) {
  std::vector<comm::RankGpus> ranks;
  for (const std::string& text : job.world.gather_strings(to_text(to_json(look_at_gpus(job))))) {
    ranks.push_back(rank_from(Json::parse(text)));
  }
  return ranks;
}

DeviceChoice choose_device(Job& job, const comm::DeviceRequest& request) {
  DeviceChoice choice;
  if (request.device == comm::DeviceKind::kCpu) {
    choice.devices.assign(static_cast<std::size_t>(job.topology.world), choice.mine.text());
    return choice;
  }
  const std::vector<comm::RankGpus> ranks = gather_gpus(job);
  comm::GpuDecision decision;
  Json shared;
  comm::agree_on_rank_0(job.world, [&] {
    decision = comm::bind_gpus(request, cuda_of_build(), ranks);
    Json gpus = Json::array();
    for (const comm::GpuBinding& binding : decision.bindings) {
      gpus.push_back(binding.gpu ? to_json(*binding.gpu) : Json(nullptr));
      choice.devices.push_back(binding.text());
    }
    shared = {{"backend", static_cast<int>(decision.backend)}, {"gpus", gpus}};
  });
  for (const std::string& warning : decision.warnings) job.warn(warning);
  choice.note = decision.note;
  shared = Json::parse(job.world.broadcast_string(to_text(shared)));
  choice.backend = static_cast<comm::Backend>(shared.at("backend").get<int>());
  const Json& mine = shared.at("gpus").at(static_cast<std::size_t>(job.topology.rank));
  if (!mine.is_null()) choice.mine.gpu = gpu_from(mine);
  return choice;
}

}  // namespace tandem::app
