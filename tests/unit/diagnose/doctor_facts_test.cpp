#include "diagnose/doctor_facts.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>

#include "support/temp_dir.hpp"
#include "tandem/core/file.hpp"

namespace tandem::app {
namespace {

class DoctorFacts : public ::testing::Test {
 protected:
  void SetUp() override { forget_launchers(); }
  void TearDown() override { forget_launchers(); }
  static void forget_launchers() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
          "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE",
          "HDF5_USE_FILE_LOCKING", "OMPI_MCA_btl_vader_single_copy_mechanism"}) {
      ::unsetenv(name);
    }
  }
  static RankFacts look() {
    RankFacts facts;
    look_around(facts);
    return facts;
  }

  testing::TempDir folder_;
};

TEST_F(DoctorFacts, TheLauncherTellsHowManyItStarted) {
  EXPECT_EQ(look().launched, 1);
  ::setenv("SLURM_NTASKS", "4", 1);  // of the job; a batch script itself is one process
  EXPECT_EQ(look().launched, 1);
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_EQ(look().launched, 4);
  ::setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  EXPECT_EQ(look().launched, 3);
  ::setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
  EXPECT_EQ(look().launched, 1);
}

TEST_F(DoctorFacts, WorldSizeIsTorchruns) {
  EXPECT_EQ(look().torch_world, 1);
  ::setenv("WORLD_SIZE", "2", 1);
  EXPECT_EQ(look().torch_world, 2);
  EXPECT_EQ(look().launched, 1);
}

TEST_F(DoctorFacts, ProcessesOfSrunFindEachOtherByPmi) {
  EXPECT_FALSE(is_started_without_pmi());
  ::setenv("SLURM_PROCID", "0", 1);
  EXPECT_FALSE(is_started_without_pmi()) << "a batch script, or a step of one task";
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_TRUE(is_started_without_pmi());
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMI_RANK"}) {
    ::setenv(name, "2", 1);
    EXPECT_FALSE(is_started_without_pmi()) << name;
    ::unsetenv(name);
  }
}

TEST_F(DoctorFacts, TheCureForMemoryThatMayNotBeReadIsSeen) {
  EXPECT_FALSE(is_told_not_to_read());
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "cma", 1);
  EXPECT_FALSE(is_told_not_to_read());
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  EXPECT_TRUE(is_told_not_to_read());
}

TEST_F(DoctorFacts, AFileThatIsHeldForWritingCannotBeLocked) {
  const std::string path = folder_ / "data.h5";
  write_file_atomically(path, "x");
  EXPECT_EQ(lock_error_of(path), "");
  const File holder = File::open_for_reading(path);
  ASSERT_EQ(::flock(holder.descriptor(), LOCK_EX), 0);
  EXPECT_EQ(lock_error_of(path), "another program holds it for writing");
  EXPECT_EQ(lock_error_of(folder_ / "absent"), "");
  ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  EXPECT_EQ(lock_error_of(path), "") << "nobody asks for a lock";
}

TEST_F(DoctorFacts, MemoryThatIsNotThereCannotBeRead) {
  const int value = 1;
  EXPECT_TRUE(can_read_process(::getpid(), &value));
  EXPECT_FALSE(can_read_process(::getpid(), nullptr));
}

TEST_F(DoctorFacts, TravelAsJson) {
  RankFacts facts;
  facts.rank = 3;
  facts.world = 4;
  facts.host = "n2";
  facts.allowed_cpus = 5;
  facts.host_cpus = 6;
  facts.allowed_cores = 2;
  facts.cpu_sharers = 7;
  facts.threads = 8;
  facts.versions = "v";
  facts.command_line = "c";
  facts.data_digest = "d";
  facts.data_error = "e";
  facts.data_bytes = 10;
  facts.data_unread_bytes = 11;
  facts.drives_gpu = true;
  facts.gpu = "g";
  facts.gpu_name = "cuda:0";
  facts.nvml_error = "n";
  facts.launched = 9;
  facts.torch_world = 12;
  facts.has_shared_memory = false;
  facts.shared_memory_bytes = std::uint64_t{1} << 40;
  facts.memory_bytes = std::uint64_t{1} << 41;
  facts.stale_files = 11;
  facts.stale_bytes = 12;
  facts.stale_command = "rm";
  facts.reads_sibling = false;
  facts.lock_error = "l";
  facts.clock_offset = -0.25;
  facts.transport = "t";
  const Json json = facts;
  const Json defaults = RankFacts{};
  for (const auto& [name, value] : json.items()) EXPECT_NE(value, defaults.at(name)) << name;
  EXPECT_EQ(Json(Json::parse(json.dump()).get<RankFacts>()), json);
}

}  // namespace
}  // namespace tandem::app
