#include "tandem/device/gpu_binding.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::device {
namespace {

constexpr int kCuda13 = 13000;
using Texts = std::vector<std::string>;

// What the ranks of a job see, host by host.
class Seen {
 public:
  // The next rank of `host`, which sees the GPUs of these numbers, counted over the whole host.
  Seen& rank(const std::string& host, const std::vector<int>& gpus,
             const std::optional<std::string>& visible_devices = std::nullopt) {
    RankGpus rank;
    rank.rank = static_cast<int>(ranks_.size());
    rank.host = host;
    rank.visible_devices = visible_devices;
    for (const int number : gpus) {
      Gpu gpu;
      gpu.index = static_cast<int>(rank.view.gpus.size());
      gpu.name = "NVIDIA H100";
      gpu.bus_id = "0000:" + std::to_string(number) + "A:00.0";
      gpu.uuid = host + "-" + std::to_string(number);
      rank.view.gpus.push_back(gpu);
    }
    rank.view.state = gpus.empty() ? GpuView::State::kNoGpu : GpuView::State::kSeen;
    rank.view.reason = gpus.empty() ? "the CUDA driver shows no GPU" : "";
    ranks_.push_back(rank);
    return *this;
  }
  // So many ranks that all see the GPUs 0 to `gpus` - 1.
  Seen& host(const std::string& host, int ranks, int gpus) {
    std::vector<int> all;
    for (int gpu = 0; gpu < gpus; ++gpu) all.push_back(gpu);
    for (int i = 0; i < ranks; ++i) rank(host, all);
    return *this;
  }
  Seen& without(const std::string& host, GpuView::State state, const std::string& reason) {
    rank(host, {});
    ranks_.back().view.state = state;
    ranks_.back().view.reason = reason;
    return *this;
  }
  // Each rank is alone on its host, as MPI counts: containers without a common /dev/shm.
  Seen& in_containers() {
    are_apart_ = true;
    return *this;
  }
  Seen& without_uuids() {
    for (RankGpus& rank : ranks_) {
      for (Gpu& gpu : rank.view.gpus) gpu.uuid.clear();
    }
    return *this;
  }
  // All GPUs become slices of GPU 0: one bus id, different uuids.
  Seen& as_slices() {
    for (RankGpus& rank : ranks_) {
      for (Gpu& gpu : rank.view.gpus) gpu.bus_id = "0000:0A:00.0";
    }
    return *this;
  }
  std::vector<RankGpus> ranks() const {
    std::vector<RankGpus> all = ranks_;
    for (RankGpus& rank : all) {
      rank.local_rank = 0;
      rank.local_size = 0;
      for (const RankGpus& other : all) {
        if (other.host != rank.host || (are_apart_ && other.rank != rank.rank)) continue;
        ++rank.local_size;
        if (other.rank < rank.rank) ++rank.local_rank;
      }
    }
    return all;
  }

 private:
  std::vector<RankGpus> ranks_;
  bool are_apart_ = false;
};

DeviceRequest ask(DeviceKind device, std::vector<int> ids = {}, bool shares = false,
                  Backend backend = Backend::kAuto) {
  return {device, backend, std::move(ids), shares};
}
const DeviceRequest kAuto = ask(DeviceKind::kAuto);
const DeviceRequest kCpu = ask(DeviceKind::kCpu);
const DeviceRequest kCuda = ask(DeviceKind::kCuda);
const DeviceRequest kShared = ask(DeviceKind::kCuda, {}, true);
DeviceRequest ids(std::vector<int> list) { return ask(DeviceKind::kCuda, std::move(list)); }
DeviceRequest over(Backend backend) { return ask(DeviceKind::kCuda, {}, false, backend); }

// "0 1 0 nccl": the index of every rank's GPU, or -, and the backend.
std::string outcome_of(const GpuDecision& decision) {
  std::string text;
  for (const GpuBinding& binding : decision.bindings) {
    text += (binding.gpu ? std::to_string(binding.gpu->index) : "-") + " ";
  }
  return text + (decision.backend == Backend::kNccl ? "nccl" : "mpi");
}

struct Case {
  const char* name;
  DeviceRequest request;
  Seen seen;
  std::string outcome;  // "69" where it is refused
  Texts said = {};      // each is part of the error, or of the warnings and the note
  int built_for = kCuda13;
};

void check(const Case& one) {
  SCOPED_TRACE(one.name);
  std::string said;
  try {
    const GpuDecision decision = bind_gpus(one.request, one.built_for, one.seen.ranks());
    EXPECT_EQ(outcome_of(decision), one.outcome) << join(decision.warnings, "\n");
    EXPECT_NE(decision.backend, Backend::kAuto);
    said = join(decision.warnings, "\n") + decision.note;
  } catch (const UnavailableError& error) {
    EXPECT_EQ(one.outcome, "69") << error.what();
    said = error.what();
  }
  if (one.said.empty()) {
    EXPECT_EQ(said, "");
  }
  for (const std::string& part : one.said) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\nis not in\n" << said;
  }
}

TEST(GpuBinding, RanksTakeTheirOwn) {
  const Seen unequal = Seen().host("n1", 4, 4).host("n2", 4, 4).host("n3", 2, 2).host("n4", 2, 2);
  const std::string one_each = "0 1 2 3 0 1 2 3 0 1 0 1 nccl";
  for (const Case& one : std::vector<Case>{
           {"one rank, one GPU", kCuda, Seen().host("n1", 1, 1), "0 nccl"},
           {"one rank, several GPUs", kCuda, Seen().host("n1", 1, 8), "0 nccl"},
           {"--gpus-per-node: all see all", kCuda, Seen().host("n1", 2, 2), "0 1 nccl"},
           {"fewer ranks than GPUs", kCuda, Seen().host("n1", 2, 4).host("n2", 2, 4),
            "0 1 0 1 nccl"},
           {"--gpus-per-task=1: each sees one, as its number 0",
            kCuda,
            Seen().rank("n1", {0}, "0").rank("n1", {1}, "1"),
            "0 0 nccl",
            {"ranks 0-1 see one GPU", "--gpus-per-node"}},
           {"--gpus-per-task=2: each sees two of its own", kCuda,
            Seen().rank("n1", {0, 1}, "0,1").rank("n1", {2, 3}, "2,3").rank("n1", {4, 5}, "4,5"),
            "0 0 0 nccl"},
           {"two ranks for each of two sets", kCuda,
            Seen().rank("n1", {0, 1}).rank("n1", {2, 3}).rank("n1", {0, 1}).rank("n1", {2, 3}),
            "0 0 1 1 nccl"},
           {"--gpu-bind=single:1 on one node of two",
            kCuda,
            Seen().host("n1", 2, 2).rank("n2", {0}, "0").rank("n2", {1}, "1"),
            "0 1 0 0 nccl",
            {"ranks 2-3 see one GPU"}},
           {"one GPU and one rank on each host is no such case", kCuda,
            Seen().rank("n1", {0}, "0").rank("n2", {0}, "0"), "0 0 nccl"},
           {"a UUID in CUDA_VISIBLE_DEVICES", kCuda,
            Seen().rank("n1", {3}, "GPU-8932f937").rank("n2", {1}, "GPU-5c42"), "0 0 nccl"},
           {"UUIDs in another order than the driver's", kCuda,
            Seen().rank("n1", {3, 1}, "GPU-3,GPU-1").rank("n1", {3, 1}, "GPU-3,GPU-1"), "0 1 nccl"},
           {"unequal hosts", kCuda, unequal, one_each},
           {"unequal hosts, auto", kAuto, unequal, one_each},
           {"ranks dealt to hosts in turn", kCuda,
            Seen().rank("n1", {0, 1}).rank("n2", {0, 1}).rank("n1", {0, 1}).rank("n2", {0, 1}),
            "0 0 1 1 nccl"},
           {"--gpu-ids, sparse", ids({1, 6, 3}), Seen().host("n1", 3, 8), "1 6 3 nccl"},
           {"--gpu-ids on unequal hosts: a list for the largest", ids({3, 2, 1, 0}),
            Seen().host("n1", 4, 4).host("n2", 1, 4), "3 2 1 0 3 nccl"},
           {"--gpu-ids with auto", ask(DeviceKind::kAuto, {1}), Seen().host("n1", 1, 2), "1 nccl"},
           {"--gpu-ids counts what is visible", ids({1}), Seen().rank("n1", {4, 6}, "4,6"),
            "1 nccl"},
           {"the same bus id on two hosts", kCuda,
            Seen().host("n1", 1, 1).host("n2", 1, 1).without_uuids(), "0 0 nccl"},
           {"--backend mpi with GPUs", over(Backend::kMpi), Seen().host("n1", 2, 2), "0 1 mpi"},
           {"--backend nccl with GPUs", over(Backend::kNccl), Seen().host("n1", 2, 2), "0 1 nccl"},
       }) {
    check(one);
  }
}

std::string places_of(const Seen& seen) {
  GpuDecision decision;
  decision.bindings = gpus_by_place(seen.ranks());
  return outcome_of(decision);
}

// As they are bound, but also where that would be refused.
TEST(GpuBinding, RanksHaveAPlaceWithoutADecision) {
  EXPECT_EQ(places_of(Seen().rank("a", {0, 1}).rank("a", {2, 3})), "0 0 mpi");
  EXPECT_EQ(places_of(Seen().rank("a", {0, 1}).rank("a", {0, 1})), "0 1 mpi");
  EXPECT_EQ(places_of(Seen().rank("a", {2}).rank("a", {2})), "0 0 mpi") << "one GPU for both";
  EXPECT_EQ(places_of(Seen().host("a", 3, 2).rank("b", {})), "0 1 - - mpi");
}

TEST(GpuBinding, RanksShareWhereThatIsAllowed) {
  for (const Case& one : std::vector<Case>{
           {"one GPU for three", kShared, Seen().host("n1", 3, 1), "0 0 0 mpi"},
           {"two GPUs for three", kShared, Seen().host("n1", 3, 2), "0 1 0 mpi"},
           {"enough GPUs: still MPI", kShared, Seen().host("n1", 2, 2), "0 1 mpi"},
           {"--gpu-ids in turn", ask(DeviceKind::kCuda, {5, 2}, true), Seen().host("n1", 3, 8),
            "5 2 5 mpi"},
           {"with auto", ask(DeviceKind::kAuto, {}, true), Seen().host("n1", 2, 1), "0 0 mpi"},
       }) {
    check(one);
  }
}

TEST(GpuBinding, SlicesAreTakenByMpi) {
  const Seen slices = Seen().rank("n1", {0}, "MIG-a").rank("n1", {1}, "MIG-b").as_slices();
  for (const Case& one : std::vector<Case>{
           {"of one GPU",
            kCuda,
            slices,
            "0 0 mpi",
            {"rank 0 (n1) and rank 1 (n1)", "slices (MIG)", "0000:0A:00.0", "travel by MPI"}},
           {"of one GPU, and NCCL",
            over(Backend::kNccl),
            slices,
            "69",
            {"--backend nccl: ", "slices (MIG)"}},
           {"of one GPU, and MPI", over(Backend::kMpi), slices, "0 0 mpi"},
           {"one slice for two",
            kCuda,
            Seen().rank("n1", {0}, "MIG-a").rank("n1", {0}, "MIG-a").as_slices(),
            "69",
            {"rank 0 (n1) and rank 1 (n1) have the same GPU", "CUDA_VISIBLE_DEVICES=MIG-a"}},
           {"of GPUs of two hosts", kCuda,
            Seen().rank("n1", {0}, "MIG-a").rank("n2", {1}, "MIG-b").as_slices(), "0 0 nccl"},
       }) {
    check(one);
  }
}

TEST(GpuBinding, RefusesWhatCannotWork) {
  const Seen twice = Seen().rank("n1", {2}, "2").rank("n1", {2}, "2");
  for (const Case& one : std::vector<Case>{
           {"more ranks than GPUs",
            kCuda,
            Seen().host("n1", 1, 1).host("n2", 3, 2),
            "69",
            {"--device cuda: more ranks than GPUs on n2", "rank 3 is number 3 of 3 ranks",
             "sees 2 GPUs, 0 is 0000:0A:00.0, 1 is 0000:1A:00.0", "CUDA_VISIBLE_DEVICES is not set",
             "--gpus-per-node", "--share-gpu"}},
           {"two ranks, one GPU",
            kCuda,
            twice,
            "69",
            {"rank 0 (n1) and rank 1 (n1)", "0000:2A:00.0 NVIDIA H100", "--gpu-ids",
             "--gpus-per-node", "--share-gpu", "rank 0 sees 1 GPU", "rank 1 sees 1 GPU",
             "CUDA_VISIBLE_DEVICES=2"}},
           {"the same by bus id alone",
            kCuda,
            Seen(twice).without_uuids(),
            "69",
            {"rank 0 (n1) and rank 1 (n1) have the same GPU"}},
           {"two containers of one machine, each with all GPUs",
            kCuda,
            Seen().host("n1", 2, 4).in_containers(),
            "69",
            {"have the same GPU, 0000:0A:00.0"}},
           {"and auto says so, because there are enough",
            kAuto,
            Seen().host("n1", 2, 4).in_containers(),
            "69",
            {"--device auto: rank 0 (n1) and rank 1 (n1)"}},
           {"--gpu-ids too short",
            ids({1, 6}),
            Seen().host("n1", 2, 8).host("n2", 3, 8),
            "69",
            {"--gpu-ids 1,6: 2 ids for the 3 ranks of n2"}},
           {"--gpu-ids of a GPU that is not there",
            ids({1, 6, 3}),
            Seen().host("n1", 3, 4),
            "69",
            {"--gpu-ids 1,6,3: rank 1 (n1) has no GPU 6", "sees 4 GPUs"}},
           {"--gpu-ids where the launcher gave each its own",
            ids({0, 1}),
            Seen().rank("n1", {0}, "0").rank("n1", {1}, "1"),
            "69",
            {"rank 1 (n1) has no GPU 1", "where the launcher gives each rank its own"}},
           {"--gpu-ids with auto does not fall back",
            ask(DeviceKind::kAuto, {1}),
            Seen().host("n1", 1, 0),
            "69",
            {"--gpu-ids 1: no GPU for rank 0"}},
           {"--share-gpu without GPU",
            ask(DeviceKind::kAuto, {}, true),
            Seen().host("n1", 1, 0),
            "69",
            {"--share-gpu: no GPU"}},
           {"--backend nccl without GPU",
            ask(DeviceKind::kAuto, {}, false, Backend::kNccl),
            Seen().host("n1", 1, 0),
            "69",
            {"--backend nccl: no GPU"}},
           {"an empty CUDA_VISIBLE_DEVICES",
            kCuda,
            Seen().host("n1", 1, 1).rank("n1", {}, ""),
            "69",
            {"no GPU for rank 1", "CUDA_VISIBLE_DEVICES is empty, which hides all GPUs"}},
           {"no driver on one host",
            kCuda,
            Seen().host("n1", 2, 2).without("n2", GpuView::State::kNoDriver, "no CUDA driver"),
            "69",
            {"no GPU for rank 2; install NVIDIA's driver", "rank 2 (n2): no CUDA driver"}},
           {"a driver that is too old",
            kCuda,
            Seen().without("n1", GpuView::State::kUnusable, "the CUDA driver is too old: 12.2"),
            "69",
            {"update or repair the driver", "rank 0 (n1): the CUDA driver is too old: 12.2"}},
           {"built without CUDA",
            kCuda,
            Seen().host("n1", 1, 1),
            "69",
            {"built without CUDA", "LIBTORCH=wheel"},
            0},
           {"built without CUDA, and --gpu-ids",
            ask(DeviceKind::kAuto, {0}),
            Seen().host("n1", 1, 1),
            "69",
            {"--gpu-ids 0: ", "built without CUDA"},
            0},
       }) {
    check(one);
  }
}

TEST(GpuBinding, AutoTakesTheCpuOnAllRanks) {
  const std::string auto_takes = "--device auto takes the CPU";
  for (const Case& one : std::vector<Case>{
           {"cpu asks nobody", kCpu, Seen().host("n1", 2, 1), "- - mpi"},
           {"no GPU anywhere", kAuto, Seen().host("n1", 2, 0), "- - mpi", {auto_takes}},
           {"none on one rank",
            kAuto,
            Seen().host("n1", 1, 1).rank("n2", {}, ""),
            "- - mpi",
            {auto_takes + " on all ranks: no GPU for rank 1", "(n2)"}},
           {"a driver that is too old",
            kAuto,
            Seen().without("n1", GpuView::State::kUnusable, "too old"),
            "- mpi",
            {auto_takes, "too old"}},
           {"more ranks than GPUs",
            kAuto,
            Seen().host("n1", 3, 2),
            "- - - mpi",
            {auto_takes, "more ranks than GPUs on n1"}},
           {"two ranks and the host's only GPU",
            kAuto,
            Seen().host("n1", 2, 1),
            "- - mpi",
            {auto_takes, "have the same GPU"}},
           {"built without CUDA", kAuto, Seen().host("n1", 1, 0), "- mpi", {}, 0},
           {"built without CUDA, beside a GPU",
            kAuto,
            Seen().host("n1", 1, 1),
            "- mpi",
            {auto_takes, "built without CUDA"},
            0},
       }) {
    check(one);
  }
}

TEST(GpuBinding, ThatNobodyHasAGpuIsNoWarning) {
  const GpuDecision none = bind_gpus(kAuto, kCuda13, Seen().host("n1", 2, 0).ranks());
  EXPECT_TRUE(none.warnings.empty());
  EXPECT_NE(none.note, "");
  const GpuDecision some =
      bind_gpus(kAuto, kCuda13, Seen().host("n1", 1, 1).host("n2", 1, 0).ranks());
  EXPECT_EQ(some.warnings.size(), 1U);
  EXPECT_EQ(some.note, "");
}

TEST(GpuBinding, ManyRanksAreNamedBriefly) {
  Seen seen;
  for (int host = 0; host < 100; ++host) seen.host("n" + std::to_string(host), 4, 0);
  try {
    bind_gpus(kCuda, kCuda13, seen.ranks());
    FAIL() << "400 ranks without GPU were accepted";
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("ranks 0-399 (n0, n1, n2, n3, n4, n5, n6, n7 and 92 "
                        "more)"),
              std::string::npos)
        << error.what();
  }
}

TEST(GpuBinding, IsShownAsCudaCounts) {
  const auto decision = bind_gpus(ids({1}), kCuda13, Seen().host("n1", 1, 2).ranks());
  EXPECT_EQ(decision.bindings[0].text(), "cuda:1 NVIDIA H100 0000:1A:00.0");
  EXPECT_EQ(GpuBinding{}.text(), "cpu");
}

TEST(DeviceRequest, NamesContradictions) {
  const auto count = [](const DeviceRequest& request) { return contradictions(request).size(); };
  for (const DeviceRequest& request : {kAuto, kCpu, kCuda, kShared, ids({1, 6, 3}),
                                       ask(DeviceKind::kCpu, {}, false, Backend::kMpi),
                                       ask(DeviceKind::kAuto, {}, false, Backend::kNccl)}) {
    EXPECT_EQ(count(request), 0U);
  }
  EXPECT_EQ(count(ask(DeviceKind::kCpu, {0})), 1U);
  EXPECT_EQ(count(ask(DeviceKind::kCpu, {}, true)), 1U);
  EXPECT_EQ(count(ask(DeviceKind::kCpu, {}, false, Backend::kNccl)), 1U);
  EXPECT_EQ(count(ask(DeviceKind::kCuda, {}, true, Backend::kNccl)), 1U);
  EXPECT_EQ(count(ids({1, 6, 1, 6})), 1U);
  EXPECT_EQ(count(ask(DeviceKind::kCpu, {1, 1}, true, Backend::kNccl)), 5U);
}

TEST(DeviceRequest, TakesTheCpuOnlyWhereNothingOfGpusIsAskedFor) {
  DeviceRequest request;
  EXPECT_TRUE(may_take_cpu(request));
  request.share_gpu = true;
  EXPECT_FALSE(may_take_cpu(request));
}

TEST(DeviceRequest, ReadsListsOfIds) {
  EXPECT_EQ(parse_gpu_ids("1,6,3"), (std::vector<int>{1, 6, 3}));
  EXPECT_EQ(parse_gpu_ids("0"), std::vector<int>{0});
  EXPECT_TRUE(parse_gpu_ids("").empty());
  for (const char* text : {"1,", ",1", "1 2", "-1", "1;2", "GPU-5c42", "0x1", "99999", "1,a"}) {
    EXPECT_THROW(parse_gpu_ids(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace tandem::device
