#!/bin/bash
# suites.sh FOLDER JOBS: the unit and MPI tests that need no libtorch, compiled for aarch64 and run by qemu-user.
#
# FOLDER keeps the libraries of that processor, Debian 12's packages, which are unpacked there and not installed. The launcher is
# the mpirun of this machine, which must be the same version of Open MPI. Builds in build-aarch64.
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"
  exit 2
fi
root=$1/root jobs=$2
cd "$(dirname "$0")/../.."
packages=libc6-dev,libstdc++-12-dev,libopenmpi-dev,libhdf5-dev,libboost-dev,libboost-program-options-dev,nlohmann-json3-dev
packages+=,zlib1g-dev,libarchive-dev,libpng-dev,libjpeg62-turbo-dev,libssl-dev,libgtest-dev

if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  mkdir -p "$1"
  mirror=$(/usr/bin/python3 -B -c 'import sys; sys.path.insert(0, "tests/package"); import chroot; print(*chroot.mirrors("bookworm"))')
  mmdebstrap --quiet --variant=extract --architectures=arm64 --include=$packages bookworm "$root" ${mirror:+"$mirror"}
  find "$root/usr" -type l -lname '/*' | while read -r link; do # the linker would follow these to this machine's libraries
    ln -sfn "$(realpath --canonicalize-missing --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done
  touch "$root/complete"
fi
root=$(realpath "$root")
cmake --preset release -B build-aarch64 -DTANDEM_TORCH=OFF -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/aarch64/toolchain.cmake" \
  -DCMAKE_SYSROOT="$root" -DMPIEXEC_EXECUTABLE="$(command -v mpirun)"
cmake --build build-aarch64 --parallel "$jobs"
# qemu-user does not apply RLIMIT_AS, with which the first two make memory scarce. The other two print nothing under it; the reason
# is not known. toolchain.cmake leaves out two cases of the MPI tests.
left_out='ForEachIndex.DoesAllOfItAlsoWhereNoThreadIsGranted|ChildProcess.MemoryIsLimited'
left_out+='|StopSignal.CtrlCReachesARankAsASigcontOfItsLauncher|StopSignal.FewerChildrenOfTheLauncherMeanThatARankHasEnded'
# Its ranks cannot copy from each other's memory by process_vm_readv.
OMPI_MCA_btl_vader_single_copy_mechanism=none ctest --test-dir build-aarch64 --timeout 300 --parallel "$jobs" --output-on-failure \
  --no-tests=error -L '^(unit|mpi)$' -E "^unit[.]($left_out)\$"
echo "not run: $left_out|NodeMemory.WithoutMemoryOnOneRankIsAnErrorOfAll|NodeMemory.BeyondWhatThereIsIsAnErrorAndNoKill"
