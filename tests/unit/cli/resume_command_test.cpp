#include "cli/resume_command.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

namespace tandem::app {
namespace {

std::string resumed(Arguments words, const std::string& program = "tandem") {
  return resume_command(program, std::move(words), "first", "runs");
}

TEST(ResumeCommand, IsTheCommandAsTypedWithTheRunAndResumeAuto) {
  EXPECT_EQ(resumed({"--data", "my data.h5", "--lr=0.1"}, "mpirun -np 2 tandem"),
            "mpirun -np 2 tandem train --data 'my data.h5' --lr=0.1 --run-id first --resume auto");
}

TEST(ResumeCommand, NamesEachOptionOnceInAnySpelling) {
  for (const Arguments& words :
       {Arguments{"--run-id", "first", "--quiet"}, Arguments{"--run_id=first", "--quiet"},
        Arguments{"--quiet", "--resume", "auto"}, Arguments{"--resume=none", "--quiet"}}) {
    EXPECT_EQ(resumed(words), "tandem train --quiet --run-id first --resume auto");
  }
}

TEST(ResumeCommand, FindsTheRunOfACheckpointThatWasNamed) {
  EXPECT_EQ(resume_command("tandem",
                           {"--resume", "/a b/first/checkpoints/step-00000004.safetensors",
                            "--runs-dir", "elsewhere", "--epochs", "3"},
                           "first", "/a b"),
            "tandem train --epochs 3 --runs-dir '/a b' --run-id first --resume auto");
}

TEST(ProgramWords, NameTheLauncher) {
  const std::string program = program_invocation_name;
  const auto forget = [] {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID", "SLURM_PROCID", "PMI_RANK", "MPI_LOCALRANKID"}) {
      ::unsetenv(name);
    }
  };
  forget();
  EXPECT_EQ(program_words(1), program);
  EXPECT_EQ(program_words(3), "mpirun -np 3 " + program);
  ::setenv("SLURM_PROCID", "0", 1);
  EXPECT_EQ(program_words(1), program) << "a batch script";
  ::setenv("SLURM_STEP_ID", "0", 1);
  ::setenv("PMI_RANK", "0", 1);  // as srun --mpi=pmi2 sets it
  EXPECT_EQ(program_words(1), "srun -n 1 " + program);
  ::setenv("MPI_LOCALRANKID", "0", 1);  // Hydra, whose proxies srun has started
  EXPECT_EQ(program_words(1), "mpiexec -n 1 " + program);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::unsetenv("OMPI_MCA_hwloc_base_binding_policy");
  EXPECT_EQ(program_words(1), "mpirun -np 1 " + program);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  EXPECT_EQ(program_words(1), "mpirun --bind-to none -np 1 " + program);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "core", 1);
  EXPECT_EQ(program_words(1), "mpirun -np 1 " + program) << "--map-by slot:PE=N is not known";
  ::unsetenv("OMPI_MCA_hwloc_base_binding_policy");
  forget();
}

TEST(ResumeCommand, LatestIsNoPath) {
  EXPECT_EQ(resumed({"--resume", "latest", "--runs-dir", "mine"}),
            "tandem train --runs-dir mine --run-id first --resume auto");
}

TEST(NewRunCommand, BeginsWithTheWeightsOfTheCheckpoint) {
  EXPECT_EQ(
      new_run_command("tandem",
                      {"--epochs", "9", "--run-id=a", "--resume", "auto", "--init-from", "x"},
                      "my runs/a/checkpoints/step-00000004.safetensors"),
      "tandem train --epochs 9 --init-from 'my runs/a/checkpoints/step-00000004.safetensors'");
}

}  // namespace
}  // namespace tandem::app
