#include "tandem/device/gpu_binding.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "gpu_sentences.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::device {
namespace {

constexpr int kHighestId = 1023;

// Why ranks cannot have GPUs as they are asked for.
struct Refusal {
  std::string fault;
  bool is_shortage = false;  // not enough GPUs, and no setting would help
  std::string option;        // that is at fault; empty: the one that requires GPUs
};

// The option that requires GPUs; "" if there is none.
std::string required_by(const DeviceRequest& request) {
  if (request.device == DeviceKind::kCuda) return "--device cuda";
  if (!request.gpu_ids.empty()) return describe_ids(request);
  if (request.share_gpu) return "--share-gpu";
  return request.backend == Backend::kNccl ? "--backend nccl" : "";
}

// The same for the same GPU, or slice of one, on whatever host name: containers of one machine may
// differ in theirs.
std::string identity(const RankGpus& rank, const Gpu& gpu) {
  return gpu.uuid.empty() ? rank.host + " " + gpu.bus_id : gpu.uuid;
}

// Among the ranks of its host that see the same GPUs: its local rank, unless the launcher gave
// ranks several GPUs of their own (--gpus-per-task=2).
std::size_t place_of(const std::vector<RankGpus>& ranks, const RankGpus& rank) {
  const auto seen_by = [](const RankGpus& one) {
    std::vector<std::string> names;
    for (const Gpu& gpu : one.view.gpus) names.push_back(identity(one, gpu));
    return names;
  };
  const std::vector<std::string> seen = seen_by(rank);
  return static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [&](const RankGpus& other) {
        return other.host == rank.host && other.local_rank < rank.local_rank &&
               seen_by(other) == seen;
      }));
}

std::optional<Refusal> bind(const DeviceRequest& request, const std::vector<RankGpus>& ranks,
                            const RankGpus& rank, GpuBinding& binding) {
  const std::vector<Gpu>& gpus = rank.view.gpus;
  const std::vector<int>& ids = request.gpu_ids;
  std::size_t at = ids.empty() ? place_of(ranks, rank) : static_cast<std::size_t>(rank.local_rank);
  if (!ids.empty()) {
    if (request.share_gpu) at %= ids.size();
    if (at >= ids.size()) return Refusal{too_few_ids(request, rank), false, describe_ids(request)};
    const int id = ids[at];
    at = static_cast<std::size_t>(id);
    if (at >= gpus.size()) return Refusal{id_not_visible(id, rank), false, describe_ids(request)};
  } else if (gpus.size() == 1 || request.share_gpu) {
    at %= gpus.size();
  } else if (at >= gpus.size()) {
    return Refusal{more_ranks_than_gpus(rank), true, ""};
  }
  binding.gpu = gpus[at];
  return std::nullopt;
}

// Whether all that the ranks of these two hosts see would not be enough for them.
bool has_too_few(const std::vector<RankGpus>& ranks, const RankGpus& one, const RankGpus& other) {
  std::set<std::string> seen;
  std::size_t users = 0;
  for (const RankGpus& rank : ranks) {
    if (rank.host != one.host && rank.host != other.host) continue;
    ++users;
    for (const Gpu& gpu : rank.view.gpus) seen.insert(identity(rank, gpu));
  }
  return seen.size() < users;
}

std::optional<Refusal> find_shared(const std::vector<RankGpus>& ranks,
                                   const std::vector<GpuBinding>& bindings) {
  std::map<std::string, const RankGpus*> users;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Gpu& gpu = *bindings[i].gpu;
    const auto [first, is_new] = users.emplace(identity(ranks[i], gpu), &ranks[i]);
    if (is_new) continue;
    return Refusal{one_gpu_for_two(*first->second, ranks[i], gpu),
                   has_too_few(ranks, *first->second, ranks[i]), ""};
  }
  return std::nullopt;
}

// NCCL takes a PCI device for a GPU, and for one rank (github.com/NVIDIA/nccl issue 1716); "" where
// it finds no two ranks on one.
std::string find_slices(const std::vector<RankGpus>& ranks,
                        const std::vector<GpuBinding>& bindings) {
  std::map<std::string, const RankGpus*> users;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Gpu& gpu = *bindings[i].gpu;
    const auto [first, is_new] = users.emplace(ranks[i].host + " " + gpu.bus_id, &ranks[i]);
    if (!is_new) return slices_of_one_gpu(*first->second, ranks[i], gpu);
  }
  return "";
}

std::optional<Refusal> choose_backend(const DeviceRequest& request,
                                      const std::vector<RankGpus>& ranks, GpuDecision& decision) {
  decision.backend = request.backend;
  if (request.backend == Backend::kAuto) {
    decision.backend = request.share_gpu ? Backend::kMpi : Backend::kNccl;
  }
  if (decision.backend == Backend::kMpi) return std::nullopt;
  const std::string slices = find_slices(ranks, decision.bindings);
  if (!slices.empty() && request.backend == Backend::kNccl) {
    return Refusal{slices + "; leave it out, and gradients travel by MPI", false, "--backend nccl"};
  }
  if (!slices.empty()) {
    decision.backend = Backend::kMpi;
    decision.warnings.push_back(slices + ", so gradients travel by MPI");
    return std::nullopt;
  }
  const std::string alone = ranks_that_see_one_gpu(ranks);
  if (!alone.empty()) decision.warnings.push_back(alone);
  return std::nullopt;
}

std::optional<Refusal> bind_all(const DeviceRequest& request, const std::vector<RankGpus>& ranks,
                                GpuDecision& decision) {
  const std::string without = ranks_without_gpu(ranks);
  if (!without.empty()) return Refusal{without, true, ""};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (auto refusal = bind(request, ranks, ranks[i], decision.bindings[i])) return refusal;
  }
  if (!request.share_gpu) {
    if (auto refusal = find_shared(ranks, decision.bindings)) return refusal;
  }
  return choose_backend(request, ranks, decision);
}

bool sees_none(const RankGpus& rank) {
  return rank.view.state == GpuView::State::kNoDriver || rank.view.state == GpuView::State::kNoGpu;
}

// The CPU for all ranks, with the reason: a note if there is no GPU at all, else a warning.
GpuDecision fall_back(const std::vector<RankGpus>& ranks, const std::string& fault) {
  GpuDecision decision;
  decision.bindings.resize(ranks.size());
  if (std::all_of(ranks.begin(), ranks.end(), sees_none)) {
    decision.note =
        "--device auto takes the CPU: no rank sees a GPU (" + ranks.front().view.reason + ")";
  } else {
    decision.warnings.push_back("--device auto takes the CPU on all ranks: " + fault);
  }
  return decision;
}

GpuDecision decide_without_cuda(const std::string& option, const std::vector<RankGpus>& ranks) {
  if (!option.empty()) {
    throw UnavailableError(option +
                           ": this program was built without CUDA; build it with make -f "
                           "Makefile.hpc build LIBTORCH=wheel, or give --device cpu");
  }
  GpuDecision decision;
  decision.bindings.resize(ranks.size());
  const auto has_gpu = [](const RankGpus& rank) { return !rank.view.gpus.empty(); };
  if (std::any_of(ranks.begin(), ranks.end(), has_gpu)) {
    decision.note =
        "--device auto takes the CPU: this program was built without CUDA, though there are GPUs; "
        "build it with LIBTORCH=wheel";
  }
  return decision;
}

}  // namespace

std::vector<int> parse_gpu_ids(const std::string& text) {
  std::vector<int> ids;
  if (text.empty()) return ids;
  try {
    for (const std::string& id : split(text, ',')) {
      ids.push_back(static_cast<int>(parse_integer(id, 0, kHighestId, "--gpu-ids")));
    }
  } catch (const UsageError&) {
    throw UsageError("--gpu-ids: '" + text + "' is not a list of numbers from 0 to " +
                     std::to_string(kHighestId) +
                     ", such as 1,6,3; UUIDs go into CUDA_VISIBLE_DEVICES");
  }
  return ids;
}

std::vector<std::string> contradictions(const DeviceRequest& request) {
  std::vector<std::string> found;
  if (request.device == DeviceKind::kCpu) {
    if (!request.gpu_ids.empty()) found.emplace_back(describe_ids(request));
    if (request.share_gpu) found.emplace_back("--share-gpu");
    if (request.backend == Backend::kNccl) found.emplace_back("--backend nccl");
    for (std::string& option : found) {
      option +=
          " and --device cpu exclude each other: the one needs GPUs, the other uses none; leave "
          "one of them out";
    }
  }
  if (request.share_gpu && request.backend == Backend::kNccl) {
    found.emplace_back(
        "--share-gpu and --backend nccl exclude each other: NCCL allows one rank on a GPU; leave "
        "--backend out");
  }
  std::set<int> seen;
  for (const int id : request.gpu_ids) {
    if (seen.insert(id).second) continue;
    found.push_back(describe_ids(request) + ": " + std::to_string(id) +
                    " is listed twice; list each GPU once" +
                    (request.share_gpu ? ", with --share-gpu ranks take them in turn" : ""));
    break;
  }
  return found;
}

bool may_take_cpu(const DeviceRequest& request) { return required_by(request).empty(); }

std::string GpuBinding::text() const {
  if (!gpu) return "cpu";
  return "cuda:" + std::to_string(gpu->index) + " " + gpu->name + " " + gpu->bus_id;
}

std::vector<GpuBinding> gpus_by_place(const std::vector<RankGpus>& ranks) {
  std::vector<GpuBinding> bindings(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].view.gpus.empty()) bind({}, ranks, ranks[i], bindings[i]);
  }
  return bindings;
}

GpuDecision bind_gpus(const DeviceRequest& request, int built_for,
                      const std::vector<RankGpus>& ranks) {
  GpuDecision decision;
  decision.bindings.resize(ranks.size());
  if (request.device == DeviceKind::kCpu) return decision;
  const std::string requiring = required_by(request);
  if (built_for == 0) return decide_without_cuda(requiring, ranks);
  const auto refusal = bind_all(request, ranks, decision);
  if (!refusal) return decision;
  if (requiring.empty() && refusal->is_shortage) return fall_back(ranks, refusal->fault);
  const std::string option = !refusal->option.empty() ? refusal->option
                             : requiring.empty()      ? "--device auto"
                                                      : requiring;
  throw UnavailableError(option + ": " + refusal->fault);
}

}  // namespace tandem::device
