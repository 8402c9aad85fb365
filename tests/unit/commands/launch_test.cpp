#include "commands/launch.hpp"

#include <gtest/gtest.h>

namespace tandem::app {
namespace {

Launch with_data() {
  Launch launch;
  launch.train_options = {"--data", "cifar 10.h5"};
  return launch;
}

TEST(MpirunLine, StartsAllRanksHere) {
  Launch launch = with_data();
  launch.ranks_per_node = 4;
  EXPECT_EQ(mpirun_line(launch),
            "mpirun -np 4 --host localhost:4 --map-by slot --bind-to none --mca "
            "odls_base_sigkill_timeout 5 tandem train --data 'cifar 10.h5'");
}

TEST(MpirunLine, CountsUnequalRanksOfHosts) {
  Launch launch = with_data();
  launch.ranks_per_node = 2;
  launch.hosts = {"n1:4", "n2"};
  launch.cpus_per_rank = 8;
  EXPECT_EQ(mpirun_line(launch),
            "mpirun -np 6 --host n1:4,n2:2 --map-by slot:PE=8 --bind-to core --mca "
            "odls_base_sigkill_timeout 5 --mca oob_tcp_keepalive_time 20 --mca "
            "oob_tcp_keepalive_intvl 5 --mca oob_tcp_keepalive_probes 3 tandem train --data "
            "'cifar 10.h5'");
}

TEST(MpirunLine, QuotesWhatAShellWouldReadInAHost) {
  Launch launch = with_data();
  launch.hosts = {"n[1]"};
  EXPECT_NE(mpirun_line(launch).find(" --host 'n[1]:1' "), std::string::npos)
      << mpirun_line(launch);
}

TEST(SbatchScript, AsksForWhatIsGiven) {
  Launch launch = with_data();
  launch.nodes = 2;
  launch.ranks_per_node = 4;
  launch.gpus_per_node = 4;
  launch.cpus_per_rank = 8;
  launch.time_limit = "01:00:00";
  launch.most_requeues = 3;
  EXPECT_EQ(sbatch_script(launch), R"(#!/bin/bash
# Submit this file with sbatch; words after its name go to `tandem train`. It leaves
# runs/job-NUMBER and slurm-NUMBER.out in the folder from which it is submitted.
#SBATCH --job-name=tandem
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
# Modules and paths of the site, where it has such a file.
# shellcheck source=/dev/null
[ -z "${TANDEM_SITE:-}" ] || source "$TANDEM_SITE"
export TANDEM_RUN_ID="${TANDEM_RUN_ID:-job-$SLURM_JOB_ID}"
trap : USR1  # where it comes to this shell too, which has to outlive it

code=0
srun --mpi=pmix --kill-on-bad-exit=0 --wait=10 --cpus-per-task=8 tandem train --data 'cifar 10.h5' --resume auto "$@" || code=$?
# 75: stopped before it was done; it goes on where it was.
if [ "$code" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  scontrol requeue "$SLURM_JOB_ID" || exit "$code"
fi
exit "$code")");
}

TEST(SbatchScript, WithoutOptionsAsksForTheDataSet) {
  const std::string script = sbatch_script({});
  EXPECT_NE(script.find(": \"${TANDEM_DATA:?"), std::string::npos);
  EXPECT_NE(script.find("\nsrun --mpi=pmix --kill-on-bad-exit=0 --wait=10 tandem train --data "
                        "\"$TANDEM_DATA\" --resume auto "),
            std::string::npos);
  EXPECT_EQ(script.find("gpus"), std::string::npos);
  EXPECT_EQ(script.find("--time"), std::string::npos);
}

TEST(SbatchScript, LeavesAResumeThatIsGiven) {
  Launch launch = with_data();
  launch.train_options.push_back("--resume=none");
  EXPECT_EQ(sbatch_script(launch).find("--resume auto"), std::string::npos);
  EXPECT_NE(sbatch_script(launch).find("#SBATCH --no-requeue\n"), std::string::npos);
}

TEST(SbatchScript, TakesLatestForAuto) {
  Launch launch = with_data();
  launch.train_options.insert(launch.train_options.end(), {"--resume", "latest"});
  EXPECT_EQ(launch.resume_mode(), "auto");
  EXPECT_NE(sbatch_script(launch).find("#SBATCH --requeue\n"), std::string::npos);
}

TEST(SbatchScript, EntersAContainer) {
  Launch launch = with_data();
  launch.image = "tandem.sif";
  launch.gpus_per_node = 1;
  EXPECT_NE(sbatch_script(launch).find(
                " --wait=10 apptainer exec --nv --env "
                "OMPI_MCA_btl_vader_single_copy_mechanism=none tandem.sif tandem train"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::app
