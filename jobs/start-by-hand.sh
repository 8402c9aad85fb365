#!/bin/bash
# Starts a job on several hosts without ssh between them. mpirun on the first host calls this script in place of ssh, once
# for each other host, and then waits until they have answered:
#
#   mpirun --host n1:2,n2:1 --mca plm_rsh_agent start-by-hand.sh --mca plm_rsh_no_tree_spawn 1 tandem info
#
# The script prints the line to run on that host, here n2. It starts Open MPI's daemon there, which connects to mpirun and
# starts the ranks. With TANDEM_START_DIR, a folder that the hosts share, no line has to be copied. Start this on n2, before
# or after mpirun; it waits for the line and runs it:
#
#   start-by-hand.sh --wait n2
#
# Anyone who can write to that folder can run commands on n2.
set -euo pipefail

if [ $# -eq 2 ] && [ "$1" = --wait ]; then
  line=${TANDEM_START_DIR:?is not set; set it to a folder that the hosts share}/start-$2
  echo "start-by-hand: waiting for $line" >&2
  until mv "$line" "$line.$$" 2> /dev/null; do sleep 0.2; done
  command=$(< "$line.$$")
  rm "$line.$$"
  exec bash -c "$command"
fi
if [ $# -lt 2 ] || [[ $1 == -* ]]; then
  echo "usage: start-by-hand.sh HOST COMMAND…, called by mpirun; or start-by-hand.sh --wait HOST" >&2
  exit 2
fi
host=$1
shift
if [ -n "${TANDEM_START_DIR:-}" ]; then
  line=$TANDEM_START_DIR/start-$host
  printf '%s\n' "$*" > "$line.$$"
  mv "$line.$$" "$line" # whole when it is seen
  echo "start-by-hand: $host finds its command in $line" >&2
else
  echo "start-by-hand: run this on $host:" >&2
  printf '%s\n' "$*" >&2
fi
