#!/bin/bash
# enter_host.sh HOST COMMAND…: stands in for ssh between the hosts of network.py. COMMAND runs there and, as with ssh, without
# the caller's environment. TANDEM_TEST_HOSTS has NAME=PROCESS of each.
set -euo pipefail
host=$1
shift
[[ " $TANDEM_TEST_HOSTS " =~ " $host="([0-9]+)" " ]] || { echo "enter_host.sh: there is no host $host" >&2; exit 255; }
exec nsenter --target="${BASH_REMATCH[1]}" --net --uts --mount env -i PATH="$PATH" HOME="$HOME" bash -c "$*"
