#!/bin/bash
# ssh [-o OPTION]… [-l USER] HOST COMMAND…: stands in for ssh where hosts are namespaces (container_hosts.py). It
# enters those of HOST and leaves the caller's environment behind; it knows no keys, and nothing of its own goes over the
# network. The user of the hosts is me, that of the container is not.
set -euo pipefail
work=$(cd "$(dirname "$0")/../.." && pwd)
user=${USER:-tandem}
while [[ $1 == -[ol] ]]; do
  [ "$1" = -o ] || user=$2
  shift 2
done
if [ "$user" != me ]; then
  echo "$user@$1: Permission denied (publickey)." >&2
  exit 255
fi
host=$1
shift
exec nsenter --target "$(cat "$work/state/$host")" --net --uts --mount --root \
  env -i --chdir=/ PATH="$work/host/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$work/home" USER=me bash -c "$*"
