#!/bin/bash
# fake_host.sh HOST COMMAND…: stands in for ssh, so that mpirun sees several hosts on one machine: COMMAND runs here, under
# another host name and, as with ssh, without the caller's environment. TANDEM_TEST_UNSHARE is the command that gives a
# program a namespace of its own.
set -euo pipefail
host=$1
shift
read -ra unshare <<< "$TANDEM_TEST_UNSHARE"
# shellcheck disable=SC2016  # the inner shell is meant to expand these
exec "${unshare[@]}" env -i PATH="$PATH" HOME="$HOME" bash -c 'hostname "$0" && exec bash -c "$*"' "$host" "$@"
