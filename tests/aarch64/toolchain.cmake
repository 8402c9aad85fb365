# Compiles for aarch64 and runs the tests by qemu-user. suites.sh gives CMAKE_SYSROOT, a folder with Debian's packages of that processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

# pkg-config and the compiler wrappers of HDF5 and MPI are those of this machine, so the places of both are given here.
set(libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(PKG_CONFIG_EXECUTABLE OFF CACHE STRING "")
set(HDF5_C_COMPILER_EXECUTABLE OFF CACHE STRING "")
set(HDF5_C_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/include/hdf5/serial CACHE PATH "")
set(HDF5_hdf5_LIBRARY_RELEASE ${libraries}/hdf5/serial/libhdf5.so CACHE FILEPATH "")
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(MPI_C_HEADER_DIR ${libraries}/openmpi/include CACHE PATH "")
set(MPI_C_LIB_NAMES mpi CACHE STRING "")
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so CACHE FILEPATH "")
set(LLD OFF CACHE STRING "")  # the compiler of another processor does not find it

# qemu-user does not apply RLIMIT_AS, with which the first case makes memory scarce. The second asks for 70 TB, and qemu-user itself
# then fills the memory of the machine.
set(TANDEM_MPI_CASES_LEFT_OUT
  NodeMemory.WithoutMemoryOnOneRankIsAnErrorOfAll NodeMemory.BeyondWhatThereIsIsAnErrorAndNoKill)
