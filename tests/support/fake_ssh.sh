#!/bin/bash
# ssh [-o OPTION]… HOST COMMAND…: stands in for ssh where hosts are namespaces (container_hosts.py). It enters those of HOST
# and leaves the caller's environment behind; it knows no keys, and nothing of its own goes over the network.
set -euo pipefail
work=$(cd "$(dirname "$0")/../.." && pwd)
while [ "$1" = -o ]; do
  shift 2
done
host=$1
shift
exec nsenter --target "$(cat "$work/state/$host")" --net --uts --mount --root \
  env -i --chdir=/ PATH="$work/host/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$work/home" bash -c "$*"
