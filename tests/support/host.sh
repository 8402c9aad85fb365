#!/bin/bash
# host.sh NAME FOLDER…: the first process of a host in namespaces of its own (network, name, mounts). It gives the host its
# name, /tmp and /dev/shm, in which only these FOLDERs stay what they were, says "ready", and sleeps until it is killed.
set -euo pipefail
hostname "$1"
shift
ip link set lo up
mount --make-rprivate /
declare -A descriptors
for folder in "$@"; do
  if [[ $folder/ == /tmp/* ]]; then
    exec {descriptor}< "$folder"  # by which it is found when /tmp has been covered
    descriptors[$folder]=$descriptor
  fi
done
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
for folder in "${!descriptors[@]}"; do
  mkdir -p "$folder"
  mount --no-canonicalize --bind "/proc/self/fd/${descriptors[$folder]}" "$folder"
done
echo ready
exec sleep infinity
