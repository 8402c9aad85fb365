// The messages of gpu_binding: which ranks see which GPUs, and what is wrong. Each begins with what
// was found and ends with the fix; the caller puts the option in front.
#pragma once

#include <string>
#include <vector>

#include "tandem/device/gpu_binding.hpp"

namespace tandem::device {

// "rank 2 (n1)"
std::string name_of(const RankGpus& rank);
// "CUDA_VISIBLE_DEVICES=0,1", "… is not set"
std::string describe_visibility(const RankGpus& rank);
// "--gpu-ids 1,6,3"
std::string describe_ids(const DeviceRequest& request);

// All ranks that see no GPU; "" if each sees one.
std::string ranks_without_gpu(const std::vector<RankGpus>& ranks);
std::string more_ranks_than_gpus(const RankGpus& rank);
std::string too_few_ids(const DeviceRequest& request, const RankGpus& rank);
std::string id_not_visible(int id, const RankGpus& rank);
std::string one_gpu_for_two(const RankGpus& one, const RankGpus& other, const Gpu& gpu);
std::string slices_of_one_gpu(const RankGpus& one, const RankGpus& other, const Gpu& gpu);
// The ranks that see one GPU although their host has other ranks; "" if there are none.
std::string ranks_that_see_one_gpu(const std::vector<RankGpus>& ranks);

}  // namespace tandem::device
