"""The command `tandem` of the wheel: replaces this process by the program for the installed MPI. Only in the wheel.

The MPI is that of TANDEM_MPI (openmpi or mpich), else of the launcher that started this process, else the one whose library is
found, Open MPI before MPICH. Intel MPI counts as mpich, because it has the same interface."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# site-packages, python3.X, lib: where PyPI's packages put their libraries, and where the program looks first.
ENVIRONMENT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
# The program and its library: of Open MPI 4 and 5; of MPICH, Intel MPI and their relatives.
MPIS = {"openmpi": ("tandem", "libmpi.so.40"), "mpich": ("tandem-mpich", "libmpi.so.12")}


def program_of(mpi):
    return os.path.join(HERE, "bin", MPIS[mpi][0])


def has_library(mpi):
    library = MPIS[mpi][1]
    if not os.path.exists(program_of(mpi)):
        return False
    if os.path.exists(os.path.join(ENVIRONMENT, library)):
        return True
    import ctypes  # slow, so only if the MPI is the site's

    try:
        ctypes.CDLL(library, os.RTLD_LAZY)
    except OSError:
        return False
    return True


def candidates():
    """Names in MPIS, the best one first; None if TANDEM_MPI is not one of them."""
    named = os.environ.pop("TANDEM_MPI", "")
    if named:
        return [named] if named in MPIS else None
    # Launchers of Open MPI and PMIx set the first two. Hydra sets the third.
    is_hydra = not {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"} & set(os.environ) and "PMI_RANK" in os.environ
    return ["mpich", "openmpi"] if is_hydra else ["openmpi", "mpich"]


def main():
    mpis = candidates()
    if mpis is None:
        print(f"tandem: error: environment: TANDEM_MPI is not one of {', '.join(MPIS)}", file=sys.stderr)
        return 2
    mpi = next(filter(has_library, mpis), None)
    if mpi is None:
        libraries = " or ".join(MPIS[each][1] for each in mpis)
        print(f"tandem: error: no MPI library: {libraries} is neither in {ENVIRONMENT} nor where the loader looks; "
              f"pip install 'tandem-train[{mpis[0]}]', or load your site's MPI (module load openmpi)", file=sys.stderr)
        return 69
    os.execv(program_of(mpi), [sys.argv[0], *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
