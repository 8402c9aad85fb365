#include "diagnose/doctor_judge.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tandem/comm/launchers.hpp"

namespace tandem::app {
namespace {

// Four ranks on two hosts, with which nothing is wrong.
std::vector<RankFacts> healthy() {
  std::vector<RankFacts> facts(4);
  for (int rank = 0; rank < 4; ++rank) {
    RankFacts& each = facts[static_cast<std::size_t>(rank)];
    each.rank = rank;
    each.world = each.launched = 4;
    each.host = rank < 2 ? "n1" : "n2";
    each.allowed_cpus = 8;
    each.allowed_cores = 4;
    each.host_cpus = 8;
    each.cpu_sharers = 2;
    each.threads = 4;
    each.versions = "1.0";
    each.command_line = "--data x.h5";
    each.data_digest = "abc";
    each.data_bytes = 1 << 20;
    each.gpu = each.host + (rank % 2 == 0 ? " a" : " b");
    each.gpu_name = "cuda:" + std::to_string(rank % 2);
    each.shared_memory_bytes = std::uint64_t{2} << 30;
  }
  return facts;
}

// Rank 0 of these, alone in its job. No launcher tells of other ranks.
std::vector<RankFacts> lone_rank() {
  std::vector<RankFacts> facts(1, healthy().front());
  facts.front().world = facts.front().launched = 1;
  return facts;
}

// Fast within a host, slower between hosts.
std::vector<PairSpeed> healthy_pairs() { return {{0, 1, 8e9}, {2, 3, 8e9}, {0, 2, 1e9}}; }

// One rank on each of four hosts, whose links do the same.
std::vector<RankFacts> four_hosts() {
  std::vector<RankFacts> facts = healthy();
  for (RankFacts& each : facts) {
    each.host = "n" + std::to_string(each.rank + 1);
    each.gpu.clear();
  }
  return facts;
}
std::vector<PairSpeed> pairs_of_four() {
  return {{0, 1, 1e9}, {0, 2, 1e9}, {0, 3, 1e9}, {1, 2, 1e9}, {1, 3, 1e9}, {2, 3, 1e9}};
}

// The one finding, of the facts after `harm`.
Finding found(const std::function<void(std::vector<RankFacts>&, Measurements&)>& harm) {
  std::vector<RankFacts> facts = healthy();
  Measurements measurements;
  measurements.pairs = healthy_pairs();
  harm(facts, measurements);
  const std::vector<Finding> findings = judge(facts, measurements);
  if (findings.size() != 1) {
    ADD_FAILURE() << findings.size() << " findings";
    for (const Finding& each : findings) ADD_FAILURE() << each.text();
    return {"-", "", "", {}};
  }
  return findings.front();
}

void expect_in(const Finding& finding, const std::string& code, const std::vector<int>& ranks,
               const std::vector<std::string>& parts) {
  EXPECT_EQ(finding.code, code) << finding.text();
  EXPECT_EQ(finding.ranks, ranks) << finding.text();
  for (const std::string& part : parts) {
    EXPECT_NE(finding.text().find(part), std::string::npos)
        << "\"" << part << "\" is not in: " << finding.text();
  }
}

TEST(DoctorJudge, FindsNothingWhereNothingIsWrong) {
  EXPECT_TRUE(judge(healthy(), {healthy_pairs(), {}}).empty());
  EXPECT_TRUE(judge(four_hosts(), {pairs_of_four(), {}}).empty());
  EXPECT_TRUE(judge({RankFacts{}}, {}).empty()) << "what was not looked at is no fault";
  EXPECT_TRUE(judge({}, {}).empty());
}

TEST(DoctorJudge, OneRankAloneIsNoFault) { EXPECT_TRUE(judge(lone_rank(), {}).empty()); }

TEST(DoctorJudge, E101ProcessesThatDoNotKnowOfEachOther) {
  std::vector<RankFacts> alone = lone_rank();
  alone.front().launched = 4;
  ASSERT_EQ(judge(alone, {}).size(), 1U);
  expect_in(judge(alone, {}).front(), "E101", {0}, {"4 processes", "--mpi=pmix"});
  alone.front().torch_world = 4;
  EXPECT_EQ(judge(alone, {}).size(), 1U) << "the launcher's number explains it";
}

TEST(DoctorJudge, W102VariablesOfTorchrun) {
  std::vector<RankFacts> alone = lone_rank();
  alone.front().torch_world = 2;
  ASSERT_EQ(judge(alone, {}).size(), 1U);
  expect_in(judge(alone, {}).front(), "W102", {0}, {"WORLD_SIZE is 2", "mpirun -np 2"});
  alone.front().world = 2;
  EXPECT_TRUE(judge(alone, {}).empty());
}

TEST(DoctorJudge, E110TwoRanksOnOneGpu) {
  expect_in(found([](auto& facts, auto& measurements) {
              facts[3].gpu = facts[2].gpu;
              measurements.gpu_warnings = {"rank 2 and rank 3 have the same GPU"};
            }),
            "E110", {2, 3}, {"ranks 2-3 on n2", "cuda:0", "--gpu-ids"});
}

TEST(DoctorJudge, W112GpusThatTrainingWouldNotTake) {
  expect_in(found([](auto&, auto& measurements) {
              measurements.gpu_warnings = {"more ranks than GPUs on n1\n  rank 1 sees 1"};
            }),
            "W112", {0}, {"more ranks than GPUs on n1; rank 1 sees 1", "tandem info"});
}

TEST(DoctorJudge, W111NvmlThatDoesNotAnswer) {
  expect_in(found([](auto& facts, auto&) { facts[1].nvml_error = "no library"; }), "W111", {1},
            {"rank 1 on n1", "no library", "NVIDIA_DRIVER_CAPABILITIES"});
}

TEST(DoctorJudge, W120APairThatIsSlowForItsKind) {
  const auto of_four = [](const std::vector<PairSpeed>& pairs) {
    const std::vector<Finding> findings = judge(four_hosts(), {pairs, {}});
    EXPECT_EQ(findings.size(), 1U);
    return findings.empty() ? Finding{"-", "", "", {}} : findings.front();
  };
  std::vector<PairSpeed> pairs = pairs_of_four();
  pairs[4].bytes_per_second = 0.3e9;
  const Finding one = of_four(pairs);
  expect_in(one, "W120", {1, 3},
            {"1 (n2) and 3 (n4)", "300.0 MB/s", "1.0 GB/s", "btl_tcp_if_include"});
  EXPECT_EQ(one.text().find("more pair"), std::string::npos) << one.text();
  pairs[2].bytes_per_second = pairs[5].bytes_per_second = 0.32e9;
  expect_in(of_four(pairs), "W120", {0, 1, 2, 3},
            {"1 (n2) and 3 (n4)", "2 more pairs, all of them with n4"});
}

TEST(DoctorJudge, W120APairThatIsSlowByItself) {
  expect_in(found([](auto&, Measurements& m) { m.pairs[2].bytes_per_second = 11e6; }), "W120",
            {0, 2}, {"0 (n1) and 2 (n2)", "11.0 MB/s"});
}

TEST(DoctorJudge, RanksThatShareACpuAreNotComparedBySpeed) {
  std::vector<RankFacts> crowded(3, healthy().front());
  for (int rank = 0; rank < 3; ++rank) {
    crowded[static_cast<std::size_t>(rank)].rank = rank;
    crowded[static_cast<std::size_t>(rank)].gpu.clear();
  }
  const std::vector<PairSpeed> pairs{{0, 1, 8e9}, {0, 2, 8e9}, {1, 2, 1e9}};
  EXPECT_EQ(judge(crowded, {pairs, {}}).size(), 1U);
  for (RankFacts& each : crowded) {
    each.allowed_cpus = each.host_cpus = 2;
    each.cpu_sharers = 3;
    each.threads = 1;
  }
  const std::vector<Finding> findings = judge(crowded, {pairs, {}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().code, "W151");
}

TEST(DoctorJudge, W150OneCpuOfMany) {
  expect_in(found([](auto& facts, auto&) {
              for (std::size_t i : {0, 1}) {
                facts[i].allowed_cpus = facts[i].threads = facts[i].cpu_sharers = 1;
                facts[i].allowed_cores = 1;
              }
            }),
            "W150", {0, 1}, {"ranks 0-1 may use only 1 of 8 CPUs of n1", "--bind-to none"});
  std::vector<RankFacts> full = healthy();
  for (RankFacts& each : full) {
    each.allowed_cpus = each.allowed_cores = each.threads = each.cpu_sharers = 1;
    each.host_cpus = 2;
  }
  EXPECT_TRUE(judge(full, {}).empty()) << "two ranks on two CPUs leave none over";
  for (RankFacts& each : full) {
    each.allowed_cpus = 2;
    each.host_cpus = 4;
  }
  EXPECT_TRUE(judge(full, {}).empty()) << "nor do they on two cores";
}

TEST(DoctorJudge, W150OneCoreOfManyWhereACoreIsTwoCpus) {
  expect_in(found([](auto& facts, auto&) {
              for (std::size_t i : {2, 3}) {
                facts[i].allowed_cpus = facts[i].threads = 2;
                facts[i].allowed_cores = facts[i].cpu_sharers = 1;
              }
            }),
            "W150", {2, 3}, {"ranks 2-3 may use only one core, 2 of 8 CPUs of n2", "--bind-to"});
}

TEST(DoctorJudge, W152FewCoresForGpus) {
  expect_in(found([](auto& facts, auto&) {
              for (auto& each : facts) each.drives_gpu = true;
              facts[3].allowed_cpus = facts[3].allowed_cores = facts[3].cpu_sharers = 1;
              facts[3].threads = 1;
              for (const std::size_t i : {0, 1, 2}) facts[i].allowed_cores = 8;
            }),
            "W152", {3},
            {"rank 3 drives a GPU with 1 core of n2; each needs at least 4", "--map-by slot:PE=8",
             "--cpus-per-task=8"});
  expect_in(found([](auto& facts, auto&) {
              for (auto& each : facts) each.drives_gpu = true;
            }),
            "W152", {0, 1, 2, 3},
            {"ranks 0-3 drive GPUs with 4 cores of n1 for 2 ranks; each needs at least 4"});
}

TEST(DoctorJudge, W151MoreThreadsThanCpus) {
  expect_in(found([](auto& facts, auto&) { facts[2].threads = facts[3].threads = 8; }), "W151",
            {2, 3}, {"2 ranks of n2 share 8 CPUs with 8 threads each", "--threads"});
}

TEST(DoctorJudge, E160AndE161WhatShouldBeTheSame) {
  expect_in(found([](auto& facts, auto&) { facts[3].versions = "1.1"; }), "E160", {3},
            {"rank 3 (n2)", "'1.1', not '1.0'"});
  expect_in(found([](auto& facts, auto&) { facts[1].command_line = "--data y.h5"; }), "E161", {1},
            {"rank 1 (n1)", "--data y.h5"});
}

TEST(DoctorJudge, E170DataThatDiffersOrIsMissing) {
  expect_in(found([](auto& facts, auto&) { facts[2].data_digest = facts[3].data_digest = "xyz"; }),
            "E170", {2, 3}, {"n2", "'xyz', not 'abc'", "tandem verify"});
  expect_in(found([](auto& facts, auto&) {
              facts[2].data_error = "x.h5: cannot be read";
              facts[2].data_digest = "";
            }),
            "E170", {2}, {"rank 2 (n2)", "cannot be read", "a path that all share"});
  expect_in(found([](auto& facts, auto&) {
              for (RankFacts& each : facts) each.data_error = "x.h5: is damaged";
            }),
            "E170", {0, 1, 2, 3}, {"is damaged", "tandem verify"});
}

TEST(DoctorJudge, W171DataThatCannotBeLocked) {
  expect_in(found([](auto& facts, auto&) { facts[0].lock_error = "No locks available"; }), "W171",
            {0}, {"No locks available", "HDF5_USE_FILE_LOCKING=FALSE"});
}

TEST(DoctorJudge, W180LittleSharedMemory) {
  expect_in(found([](auto& facts, auto&) {
              facts[2].shared_memory_bytes = facts[3].shared_memory_bytes = 8 << 20;
            }),
            "W180", {2, 3},
            {"/dev/shm of n2 has 8.4 MB free, Open MPI needs 8.8 MB", "2 ranks", "--shm-size"});
  expect_in(found([](auto& facts, auto&) { facts[0].has_shared_memory = false; }), "W180", {0},
            {"/dev/shm of n1 is missing"});
  expect_in(no_room_for_images(70'000'000, false), "W180", {},
            {"cannot share 70.0 MB", "keeps its own copy", "--ipc=host"});
  expect_in(no_room_for_images(70'000'000, true), "W180", {},
            {"cannot share 70.0 MB", "reads its pictures from the data set", "--ipc=host"});
}

TEST(DoctorJudge, W182ImagesThatDoNotFit) {
  expect_in(found([](auto& facts, auto&) {
              for (RankFacts& each : facts) each.data_bytes = 100'000'000;
              facts[2].memory_bytes = facts[3].memory_bytes = 109'000'000;
            }),
            "W182", {2, 3}, {"n2 has 109.0 MB", "the images need 110.0 MB", "--mem"});
}

TEST(DoctorJudge, W181MemoryOfOtherRanksThatIsClosed) {
  expect_in(found([](auto& facts, auto&) { facts[1].reads_sibling = false; }), "W181", {1},
            {"process_vm_readv", comm::launcher_of_library().no_process_reads});
}

TEST(DoctorJudge, W183MemoryThatKilledJobsHaveLeft) {
  expect_in(found([](auto& facts, auto&) {
              facts[2].stale_files = 3;
              facts[2].stale_bytes = 12'600'000;
              facts[2].stale_command = "rm /dev/shm/vader_segment.n2.0.aa.*";
            }),
            "W183", {2},
            {"/dev/shm of n2 holds 3 files with 12.6 MB", "rm /dev/shm/vader_segment.n2"});
}

TEST(Finding, AFixOfSeveralLinesBeginsALine) {
  EXPECT_EQ((Finding{"W183", "files", "rm a", {}}).text(), "W183 files; rm a");
  EXPECT_EQ((Finding{"W183", "files", "rm a \\\n  b", {}}).text(),
            "W183 files\n  fix: rm a \\\n  b");
}

TEST(DoctorJudge, W190ClocksThatDiffer) {
  expect_in(found([](auto& facts, auto&) { facts[2].clock_offset = -3600; }), "W190", {2},
            {"rank 2 (n2) is 3600.0 s behind that of rank 0 (n1)", "chronyd"});
  std::vector<RankFacts> near = healthy();
  near[2].clock_offset = 0.9;
  EXPECT_TRUE(judge(near, {}).empty());
}

TEST(DoctorJudge, ErrorsComeBeforeWarnings) {
  std::vector<RankFacts> facts = healthy();
  facts[1].threads = 99;
  facts[3].versions = "1.1";
  const std::vector<Finding> findings = judge(facts, {});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].code, "E160");
  EXPECT_TRUE(findings[0].is_error());
  EXPECT_EQ(findings[1].code, "W151");
  EXPECT_FALSE(findings[1].is_error());
}

}  // namespace
}  // namespace tandem::app
