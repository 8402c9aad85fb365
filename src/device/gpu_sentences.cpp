#include "gpu_sentences.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"

namespace tandem::device {
namespace {

// "sees 2 GPUs, 0 is 0000:3B:00.0, 1 is 0000:5E:00.0; CUDA_VISIBLE_DEVICES=0,1"
std::string describe_view(const RankGpus& rank) {
  std::vector<std::string> gpus;
  for (const Gpu& gpu : rank.view.gpus) {
    gpus.push_back(std::to_string(gpu.index) + " is " + gpu.bus_id);
  }
  return "sees " + format_quantity(gpus.size(), "GPU") + ", " + list_some(gpus) + "; " +
         describe_visibility(rank);
}

const char* fix_for(GpuView::State state) {
  switch (state) {
    case GpuView::State::kNoDriver:
      return "install NVIDIA's driver, or give the container its GPUs (docker run --gpus all, "
             "apptainer exec --nv)";
    case GpuView::State::kUnusable:
      return "update or repair the driver";
    default:
      return "ask the launcher for GPUs (--gpus-per-node)";
  }
}

}  // namespace

std::string name_of(const RankGpus& rank) {
  return "rank " + std::to_string(rank.rank) + " (" + rank.host + ")";
}

std::string describe_visibility(const RankGpus& rank) {
  const std::string name = "CUDA_VISIBLE_DEVICES";
  if (!rank.visible_devices) return name + " is not set";
  if (rank.visible_devices->empty()) return name + " is empty, which hides all GPUs";
  return name + "=" + *rank.visible_devices;
}

std::string describe_ids(const DeviceRequest& request) {
  std::vector<std::string> ids;
  for (const int id : request.gpu_ids) ids.push_back(std::to_string(id));
  return "--gpu-ids " + join(ids, ",");
}

std::string ranks_without_gpu(const std::vector<RankGpus>& ranks) {
  std::map<std::pair<std::string, std::string>, std::vector<const RankGpus*>> alike;
  std::vector<int> without;
  const RankGpus* first = nullptr;
  for (const RankGpus& rank : ranks) {
    if (!rank.view.gpus.empty()) continue;
    if (first == nullptr) first = &rank;
    without.push_back(rank.rank);
    alike[{rank.view.reason, describe_visibility(rank)}].push_back(&rank);
  }
  if (first == nullptr) return "";
  std::string text = "no GPU for " + name_ranks(without) + "; " + fix_for(first->view.state) +
                     ", or give --device cpu";
  for (const auto& [why, group] : alike) {
    std::vector<int> numbers;
    std::vector<std::string> hosts;
    for (const RankGpus* rank : group) {
      numbers.push_back(rank->rank);
      if (std::find(hosts.begin(), hosts.end(), rank->host) == hosts.end()) {
        hosts.push_back(rank->host);
      }
    }
    text += "\n  " + name_ranks(numbers) + " (" + list_some(hosts) + "): " + why.first + "; " +
            why.second;
  }
  return text;
}

std::string more_ranks_than_gpus(const RankGpus& rank) {
  return "more ranks than GPUs on " + rank.host + "; start one rank for each, ask for more GPUs " +
         "(--gpus-per-node), or test with --share-gpu\n  rank " + std::to_string(rank.rank) +
         " is number " + std::to_string(rank.local_rank + 1) + " of " +
         std::to_string(rank.local_size) + " ranks there and " + describe_view(rank);
}

std::string too_few_ids(const DeviceRequest& request, const RankGpus& rank) {
  return format_quantity(request.gpu_ids.size(), "id") + " for the " +
         std::to_string(rank.local_size) + " ranks of " + rank.host +
         "; list one for each, or start fewer ranks there";
}

std::string id_not_visible(int id, const RankGpus& rank) {
  return name_of(rank) + " has no GPU " + std::to_string(id) +
         "; ids count what a rank sees, from 0, and are not needed where the launcher gives each "
         "rank its own\n  rank " +
         std::to_string(rank.rank) + " " + describe_view(rank);
}

std::string one_gpu_for_two(const RankGpus& one, const RankGpus& other, const Gpu& gpu) {
  std::string text = name_of(one) + " and " + name_of(other) + " have the same GPU, " + gpu.bus_id +
                     " " + gpu.name +
                     "; give each its own (--gpus-per-node, --gpu-ids), or test with --share-gpu";
  for (const RankGpus* rank : {&one, &other}) {
    text += "\n  rank " + std::to_string(rank->rank) + " " + describe_view(*rank);
  }
  return text;
}

std::string slices_of_one_gpu(const RankGpus& one, const RankGpus& other, const Gpu& gpu) {
  return name_of(one) + " and " + name_of(other) + " have slices (MIG) of one GPU, " + gpu.bus_id +
         ", which NCCL does not connect";
}

std::string ranks_that_see_one_gpu(const std::vector<RankGpus>& ranks) {
  std::vector<int> alone;
  for (const RankGpus& rank : ranks) {
    if (rank.view.gpus.size() == 1 && rank.local_size > 1) alone.push_back(rank.rank);
  }
  if (alone.empty()) return "";
  return name_ranks(alone) + (alone.size() == 1 ? " sees" : " see") +
         " one GPU, beside other ranks of the host; NCCL is slower where a rank does not see all "
         "GPUs of its host: --gpus-per-node in place of --gpus-per-task, and --gpu-bind=none where "
         "the site binds them";
}

}  // namespace tandem::device
