#include "commands/launch.hpp"

#include <gtest/gtest.h>

#include "commands/launch/launch_options.hpp"
#include "tandem/core/text.hpp"

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

TEST(KubernetesJob, KeepsItsWordsFromKubernetes) {
  Launch launch = with_data();
  launch.image = "tandem";
  launch.train_options = {"--data", "x$(TANDEM_RUN_ID)$$b.h5"};
  const std::string job = kubernetes_job(launch);
  EXPECT_NE(job.find("--data 'x$$(TANDEM_RUN_ID)$$$b.h5'"), std::string::npos) << job;
}

TEST(KubernetesNames, AreThoseThatKubernetesAccepts) {
  const auto faults_of = [](const std::string& image, const std::string& claim) {
    const OptionTable table = launch_option_table();
    const Arguments words{"--image", image, "--claim", claim};
    Options options = resolve(table, parse_command_line("emit", table, words, false));
    read_launch(options, "kubernetes");
    return join(texts_of(options.faults()), "\n");
  };
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& image :
       {std::string("tandem"), std::string("tandem:Cuda_1.2"), "a.org:5000/x/y__z:1" + digest,
        std::string("Registry/tandem")}) {
    EXPECT_EQ(faults_of(image, "shared-1.data"), "") << image;
  }
  for (const char* image : {"Tandem", "a.org/Tandem:cpu", "tandem:", "a b", "-x", "tandem:-x"}) {
    EXPECT_EQ(faults_of(image, "a"), "--image: '" + std::string(image) +
                                         "' is not a valid name; expected an image of a "
                                         "registry, in lower case before the tag, such as "
                                         "registry.example.org/tandem:cuda");
  }
  for (const char* claim : {"Shared", "a_b", "-a", "a-", "a..b", "a/b"}) {
    EXPECT_EQ(faults_of("tandem", claim),
              "--claim: '" + std::string(claim) +
                  "' is not a valid name; expected at most 253 lower-case "
                  "letters, digits, '-' and '.', with a letter or "
                  "digit at both ends, such as shared-data");
  }
  EXPECT_EQ(faults_of("tandem", std::string(253, 'a')), "");
  EXPECT_NE(faults_of("tandem", std::string(254, 'a')), "");
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
# Starts without a new checkpoint, after which the next one ends with 70.
export TANDEM_MAX_STUCK_STARTS="${TANDEM_MAX_STUCK_STARTS:-3}"
trap : USR1  # where it comes to this shell too, which has to outlive it

code=0
srun --mpi=pmix --kill-on-bad-exit=0 --wait=10 --cpus-per-task=8 tandem train --data 'cifar 10.h5' --resume auto "$@" || code=$?
# 75: the run stopped early; it resumes in the next start.
if [ "$code" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  scontrol requeue "$SLURM_JOB_ID" || exit "$code"
fi
exit "$code")");
}

TEST(SbatchScript, AsksForMoreOfTheSite) {
  Launch launch = with_data();
  launch.account = "physics";
  launch.partition = "long";
  launch.mebibytes_per_node = 16 * 1024;
  launch.output = "logs/%j.out";
  launch.array = "1-5";
  const std::string script = sbatch_script(launch);
  EXPECT_NE(script.find("#SBATCH --account=physics\n#SBATCH --partition=long\n"
                        "#SBATCH --array=1-5\n#SBATCH --nodes=1\n"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("#SBATCH --mem=16384M\n#SBATCH --output=logs/%j.out\n"), std::string::npos);
  EXPECT_NE(script.find("TANDEM_RUN_ID=\"${TANDEM_RUN_ID:-job-$SLURM_ARRAY_JOB_ID}-seed-"
                        "$SLURM_ARRAY_TASK_ID\"\n"),
            std::string::npos);
  EXPECT_NE(script.find(" --resume auto --seed \"$SLURM_ARRAY_TASK_ID\" \"$@\""),
            std::string::npos);
}

TEST(SbatchScript, LaysOutUnequalRanks) {
  Launch launch = with_data();
  launch.ranks_of_nodes = {4, 2};
  launch.nodes = 2;
  launch.launcher = comm::mpich();
  const std::string script = sbatch_script(launch);
  EXPECT_EQ(launch.ranks(), 6U);
  EXPECT_NE(script.find("#SBATCH --nodes=2\n#SBATCH --exclusive\n"), std::string::npos);
  EXPECT_NE(script.find("printf '%s\\n' 4 2 | sort -nr)"), std::string::npos) << script;
  EXPECT_NE(script.find("srun --mpi=pmi2 --kill-on-bad-exit=0 --wait=10 --distribution=arbitrary "
                        "--ntasks=\"${#layout[@]}\" "),
            std::string::npos);
}

TEST(MpirunLine, IsThatOfEachMpi) {
  Launch launch = with_data();
  launch.hosts = {"n1:2", "n2"};
  launch.cpus_per_rank = 4;
  const auto words = [&](const comm::Launcher& launcher) {
    launch.launcher = launcher;
    const std::string line = mpirun_line(launch);
    return line.substr(0, line.find(" tandem train"));
  };
  EXPECT_EQ(words(comm::open_mpi_5()),
            "mpirun -np 3 --host n1:2,n2:1 --map-by slot:pe=4 --bind-to core --prtemca "
            "oob_tcp_keepalive_time 20 --prtemca oob_tcp_keepalive_intvl 5 --prtemca "
            "oob_tcp_keepalive_probes 3");
  EXPECT_EQ(words(comm::mpich()), "mpiexec -n 3 -hosts n1:2,n2:1 -bind-to core:4");
  EXPECT_EQ(words(comm::intel_mpi()),
            "printf 'n1:2\\nn2:1\\n' > tandem-hosts && mpiexec -n 3 -machinefile tandem-hosts "
            "-genv I_MPI_PIN_DOMAIN 4:compact");
  launch.hosts = {"n1:2", "n2:2"};
  EXPECT_EQ(words(comm::intel_mpi()),
            "mpiexec -n 4 -hosts n1,n2 -ppn 2 -genv I_MPI_PIN_DOMAIN 4:compact");
}

TEST(PbsScript, SelectsHosts) {
  Launch launch = with_data();
  launch.ranks_of_nodes = {4, 2};
  launch.nodes = 2;
  launch.cpus_per_rank = 2;
  launch.mebibytes_per_node = 1000;
  launch.seconds_limit = 3600;
  launch.max_time = 3510;
  launch.most_requeues = 3;
  launch.account = "physics";
  launch.partition = "long";
  const std::string script = pbs_script(launch);
  EXPECT_NE(script.find(R"(#PBS -N tandem
#PBS -A physics
#PBS -q long
#PBS -l select=1:ncpus=8:mpiprocs=4:mem=1000mb+1:ncpus=4:mpiprocs=2:mem=1000mb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
#PBS -r y
)"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("mpirun -np 6 --hostfile \"$PBS_NODEFILE\" --map-by slot:PE=2 --bind-to "
                        "core --mca odls_base_sigkill_timeout 5 "),
            std::string::npos);
  EXPECT_NE(script.find(" tandem train --data 'cifar 10.h5' --resume auto --max-time 3510 &\n"),
            std::string::npos);
  EXPECT_NE(script.find("[ \"$restarts\" -lt 3 ]"), std::string::npos);
}

TEST(JobScripts, KeepAnOptionInAnyOfItsSpellings) {
  Launch launch = with_data();
  launch.max_time = 3510;
  launch.train_options.insert(launch.train_options.end(), {"--max_time", "00:10:00"});
  const std::string script = pbs_script(launch);
  EXPECT_NE(script.find("--max_time 00:10:00 --resume auto &\n"), std::string::npos) << script;
}

TEST(LsfScript, IsRequeuedByItsExitCode) {
  Launch launch = with_data();
  launch.nodes = 2;
  launch.ranks_per_node = 4;
  launch.gpus_per_node = 4;
  launch.cpus_per_rank = 8;
  launch.mebibytes_per_node = 1000;
  launch.seconds_limit = 5400;
  launch.array = "1-5";
  EXPECT_NE(lsf_script(launch).find(R"(#BSUB -J "tandem[1-5]"
#BSUB -n 8
#BSUB -R "span[ptile=4]"
#BSUB -R "affinity[core(8)]"
#BSUB -R "rusage[mem=1000MB/host]"
#BSUB -gpu "num=4"
#BSUB -W 90
#BSUB -wa USR1 -wt 2
#BSUB -o tandem-%J-%I.out
#BSUB -r
#BSUB -Q "75"
)"),
            std::string::npos)
      << lsf_script(launch);
  launch.array = "1,3-7%2";
  EXPECT_NE(lsf_script(launch).find("#BSUB -J \"tandem[1,3-7]%2\"\n"), std::string::npos);
}

TEST(FluxScript, GivesEachRankItsShare) {
  Launch launch = with_data();
  launch.nodes = 2;
  launch.ranks_per_node = 4;
  launch.gpus_per_node = 4;
  launch.cpus_per_rank = 8;
  launch.seconds_limit = 300;
  launch.max_time = 300;
  launch.launcher = comm::mpich();
  const std::string script = flux_script(launch);
  EXPECT_NE(script.find("# flux: --nodes=2\n# flux: --nslots=8\n# flux: --cores-per-slot=8\n"
                        "# flux: --gpus-per-slot=1\n# flux: --time-limit=300s\n"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("flux run --nodes=2 --ntasks=8 --cores-per-task=8 --gpus-per-task=1 -o "
                        "pmi=simple tandem train --data 'cifar 10.h5' --resume auto --max-time "
                        "300 \"$@\" || code=$?\n"),
            std::string::npos);
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
