#include "app/doctor_facts.hpp"

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
    ::unsetenv("OMPI_COMM_WORLD_SIZE");
    ::unsetenv("SLURM_STEP_NUM_TASKS");
    ::unsetenv("SLURM_NTASKS");
  }
  static RankFacts look(const std::string& data = "") {
    RankFacts facts;
    look_around(data, facts);
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

TEST_F(DoctorFacts, AFileThatIsHeldForWritingCannotBeLocked) {
  const std::string path = folder_ / "data.h5";
  write_file_atomically(path, "x");
  EXPECT_EQ(look(path).lock_error, "");
  const File holder = File::open_for_reading(path);
  ASSERT_EQ(::flock(holder.descriptor(), LOCK_EX), 0);
  EXPECT_EQ(look(path).lock_error, "another program holds it for writing");
  EXPECT_EQ(look(folder_ / "absent").lock_error, "");
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
  facts.cpu_sharers = 7;
  facts.threads = 8;
  facts.versions = "v";
  facts.command_line = "c";
  facts.data_digest = "d";
  facts.data_error = "e";
  facts.gpu = "g";
  facts.nvml_error = "n";
  facts.launched = 9;
  facts.has_shared_memory = true;
  facts.shared_memory_bytes = std::uint64_t{1} << 40;
  facts.reads_siblings = false;
  facts.lock_error = "l";
  facts.clock_offset = -0.25;
  const Json json = to_json(facts);
  const Json defaults = to_json(RankFacts{});
  for (const auto& [name, value] : json.items()) EXPECT_NE(value, defaults.at(name)) << name;
  EXPECT_EQ(to_json(facts_from_json(Json::parse(json.dump()))), json);
}

}  // namespace
}  // namespace tandem::app
