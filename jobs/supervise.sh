#!/bin/bash
# Starts an mpirun again where it stopped early (75) or lost a rank, at most N times, and gives its last exit code.
#
#   jobs/supervise.sh 10 mpirun --bind-to none -np 4 tandem train --data cifar10.h5 --recipe cifar10-simple --run-id night
#
# prints, beside what mpirun prints,
#
#   supervise: mpirun ended with 137; start 2, of at most 11
#
# After three starts in a row without a new checkpoint the next one ends with 70. TANDEM_MAX_STUCK_STARTS sets
# another number; 0: no limit.
#
# It pauses for SUPERVISE_PAUSE seconds (5) between starts. A crash, such as 139, that comes again before the run has saved
# anything new would come each time: the second one is the end.
#
# SIGINT, SIGTERM, SIGHUP and SIGUSR1 stop the run with a checkpoint, and it is not started again.
set -euo pipefail
case ${1:-} in --help | -h)
  sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"
  exit
  ;;
esac
if [ $# -lt 2 ] || [[ ! $1 =~ ^[0-9]+$ ]]; then
  echo "usage: supervise.sh N mpirun … tandem train --data FILE …; supervise.sh --help" >&2
  exit 2
fi
most_restarts=$((10#$1))
shift

# Else the second start would begin another run. Options on the command line are stronger.
export TANDEM_RESUME="${TANDEM_RESUME:-auto}"
export TANDEM_RUN_ID="${TANDEM_RUN_ID:-supervised-$(date +%Y%m%d-%H%M%S)}"
export TANDEM_MAX_STUCK_STARTS="${TANDEM_MAX_STUCK_STARTS:-3}"
# Open MPI: if the link to a host fails, mpirun would wait a quarter of an hour for the kernel to notice. With these settings it
# ends after about 35 s, with 205.
export OMPI_MCA_oob_tcp_keepalive_time="${OMPI_MCA_oob_tcp_keepalive_time:-20}"
export OMPI_MCA_oob_tcp_keepalive_intvl="${OMPI_MCA_oob_tcp_keepalive_intvl:-5}"
export OMPI_MCA_oob_tcp_keepalive_probes="${OMPI_MCA_oob_tcp_keepalive_probes:-3}"
for name in time intvl probes; do  # the names of Open MPI 5
  own=PRTE_MCA_oob_tcp_keepalive_$name earlier=OMPI_MCA_oob_tcp_keepalive_$name
  export "$own=${!own:-${!earlier}}"
done

job="" signals=0
trap 'signals=$((signals + 1)); kill -USR1 $job 2> /dev/null || :' INT TERM HUP USR1

# run COMMAND…: sets `code`. A session of its own keeps Ctrl-C from mpirun, which would kill its ranks two seconds later;
# SIGUSR1 it passes on, and waits.
run() {
  setsid "$@" < /dev/null &
  job=$!
  [ "$signals" = 0 ] || kill -USR1 "$job" 2> /dev/null || :  # a signal that came before mpirun had a number
  local before
  while :; do
    before=$signals code=0
    wait "$job" || code=$?
    [ "$signals" != "$before" ] || break  # else only `wait` was interrupted
  done
  job=""
}

# value_of --NAME DEFAULT WORD…: the last value that the words give to an option, also as --A_B.
value_of() {
  local name=$1 value=$2
  shift 2
  while [ $# -gt 0 ]; do
    local option=${1%%=*}
    case ${option//_/-}${1#"$option"} in
      "$name") value=${2:-} ;;
      "$name="*) value=${1#*=} ;;
    esac
    shift
  done
  echo "$value"
}

# What the run has saved, as far as it can be seen from here.
saved() {
  local folder
  folder=$(value_of --runs-dir "${TANDEM_RUNS_DIR:-runs}" "$@")/$(value_of --run-id "$TANDEM_RUN_ID" "$@")
  ls "$folder/checkpoints" 2> /dev/null || :
}

# 128 + n: a rank died of signal n. 205: mpirun lost the connection to a host. 134 is left out: mpirun also means by it that
# it finds no such program, and an abort() comes again. So do the crashes 135, 136 and 139 (SIGBUS, SIGFPE, SIGSEGV) of a
# run that has saved nothing since the one before.
#
# MPICH's mpiexec returns n in place of 128 + n, and combines the codes of all ranks by bitwise OR: 15 may be SIGABRT of one
# rank and SIGTERM of another. tandem ends with none of 3 to 31. So 9 is SIGKILL, and the other codes may be a crash.
is_worth_another() {
  case $1 in
    9 | 75 | 205) ;;
    134) return 1 ;;
    [3-9] | [12][0-9] | 30 | 31 | 135 | 136 | 139) [ "$crashed_at" != "$2" ] && crashed_at=$2 ;;
    *) [ "$1" -gt 128 ] && [ "$1" -lt 160 ] ;;
  esac
}

# In the background, so that a signal ends it.
pause() {
  sleep "${SUPERVISE_PAUSE:-5}" &
  wait $! || :
}

code=75 crashed_at=none
for ((start = 1; signals == 0; ++start)); do
  run "$@"
  if [ "$signals" -gt 0 ] || [ "$start" -gt "$most_restarts" ]; then break; fi
  if ! is_worth_another "$code" "saved: $(saved "$@")"; then break; fi
  echo "supervise: $(basename "$1") ended with $code; start $((start + 1)), of at most $((most_restarts + 1))" >&2
  pause
done
exit "$code"
