# Settings of each MPI's launcher for tests. They allow more ranks than processors, and they allow root. Ranks are not pinned to
# cores, and a waiting rank yields its processor.
#
# tandem_mpirun(VARIABLE): the command, before the option for the number of ranks. All launchers end a job after
# MPIEXEC_TIMEOUT seconds; only Open MPI has an option for it.
function(tandem_mpirun variable)
  set(${variable} env MPIEXEC_TIMEOUT=${TANDEM_MPIRUN_SECONDS} ${MPIEXEC_EXECUTABLE} PARENT_SCOPE)
endfunction()

# For all tests; variables of other launchers have no effect.
set(TANDEM_LAUNCHER_ENVIRONMENT
  # Open MPI
  OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # The launcher of Open MPI 5 reads two of these by new names.
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  PRTE_MCA_hwloc_default_binding_policy=none
  # Intel MPI. PyPI's impi-rt comes without libfabric, so its ranks are on one host.
  I_MPI_PIN=0
  I_MPI_FABRICS=shm
  I_MPI_THREAD_YIELD=3
  # MPICH
  MPIR_CVAR_POLLS_BEFORE_YIELD=1)
