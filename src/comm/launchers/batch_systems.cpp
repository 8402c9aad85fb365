// Ranks that a batch system starts itself: srun of Slurm, flux run, and others by PMIx.
//
// Exit codes: srun and flux return the highest code of all ranks, 128 + n after signal n.
// Grace: Slurm kills 30 s after SIGTERM (KillWait), Flux 5 s after it (kill-timeout). Slurm's
// --signal=USR1@120 sends SIGUSR1 before the time limit.
// srun --mpi=pmix sets PMIX_RANK, --mpi=pmi2 sets PMI_RANK, and both set SLURM_PROCID.
#include "tandem/comm/launchers.hpp"

namespace tandem::comm {
namespace {

constexpr auto kUnbind = "give the ranks more cores in the job script (--cpus-per-task of Slurm)";

}  // namespace

Launcher pmix() {
  Launcher launcher;
  launcher.name = "pmix";
  launcher.title = "PMIx";
  launcher.rank = "PMIX_RANK";
  launcher.job = "PMIX_NAMESPACE";
  launcher.unbind = kUnbind;
  return launcher;
}

Launcher slurm() {
  Launcher launcher;
  launcher.name = "slurm";
  launcher.title = "Slurm";
  launcher.mark = "SLURM_STEP_ID";
  launcher.rank = "SLURM_PROCID";
  launcher.size = "SLURM_STEP_NUM_TASKS";
  launcher.job = "SLURM_STEP_ID";
  launcher.start = "srun -n ";
  launcher.unbind = kUnbind;
  return launcher;
}

Launcher flux() {
  Launcher launcher;
  launcher.name = "flux";
  launcher.title = "Flux";
  launcher.mark = "FLUX_TASK_RANK";
  launcher.rank = "FLUX_TASK_RANK";
  launcher.size = "FLUX_JOB_SIZE";
  launcher.job = "FLUX_JOB_ID";
  launcher.start = "flux run -n ";
  launcher.unbind = "give the ranks more cores (flux run --cores-per-task)";
  return launcher;
}

}  // namespace tandem::comm
