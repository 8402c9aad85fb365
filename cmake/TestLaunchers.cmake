# How each MPI's launcher starts ranks in tests: more of them than there are processors, none pinned to a core that another
# one uses, root allowed, waiting ranks that do not keep others from a processor.
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
  # Open MPI 5 renamed two of these, which its launcher reads.
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  PRTE_MCA_hwloc_default_binding_policy=none
  # Intel MPI. PyPI's impi-rt comes without libfabric, so its ranks are on one host.
  I_MPI_PIN=0
  I_MPI_FABRICS=shm
  I_MPI_THREAD_YIELD=3
  # MPICH
  MPIR_CVAR_POLLS_BEFORE_YIELD=1)
