#!/bin/bash
# docker run|exec|stop …: stands in for docker where hosts are namespaces (container_hosts.py). It does what the options of
# docs/containers.md ask for, and refuses others: a container has file systems, /dev/shm and System V IPC of its own and,
# by --network host, the network and the name of the host. There are no images, users or limits: it sees the host's files,
# runs as root, and finds the image's commands in image/bin.
set -euo pipefail
work=$(cd "$(dirname "$0")/../.." && pwd)

refuse() {
  echo "fake_docker: $*" >&2
  exit 125
}

# in_container ROOT SHM_SIZE VOLUME… -- COMMAND…: in namespaces of its own; says its process number once it is set up.
in_container() {
  root=$1 size=$2
  shift 2
  mount -t tmpfs none "$root"
  mkdir "$root/home" "$root/scratch"
  for path in /* /home/*; do
    case $path in /home | /scratch | '/home/*') continue ;; esac
    if [ -L "$path" ]; then
      cp -a "$path" "$root$path"
    elif [ -d "$path" ]; then
      mkdir "$root$path"
      mount --rbind "$path" "$root$path"
    fi
  done
  mount -t tmpfs -o "size=$size" tmpfs "$root/dev/shm"
  for volume in "${@:1:$#}"; do
    shift
    [ "$volume" != -- ] || break
    IFS=: read -r source target rights <<< "$volume"
    mkdir -p "$root$target"
    mount --bind "$source" "$root$target"
    [ "$rights" != ro ] || mount -o remount,bind,ro "$root$target"
  done
  # Once its root is the container's, which `exec` looks for.
  exec chroot "$root" bash -c 'echo $$; exec "$@" < /dev/null > /dev/null 2>&1' bash "$@"
}

verb=$1
shift
case $verb in
  run)
    name='' network='' size=64m volumes=() environment=()
    while [[ $1 == --* ]]; do
      case $1 in
        --detach | --init | --rm) ;;
        --name) name=$2 && shift ;;
        --network) network=$2 && shift ;;
        --shm-size=*) size=${1#*=} ;;
        --volume) volumes+=("$2") && shift ;;
        --env) environment+=("$2") && shift ;;
        *) refuse "no option $1" ;;
      esac
      shift
    done
    shift # the image
    [ "$network" = host ] || refuse "--network host was expected"
    state=$work/state/$(hostname).$name
    [ ! -e "$state" ] || refuse "$name runs already"
    mkdir -p "$state.root"
    export -f in_container
    read -r process < <(exec setsid unshare --mount --ipc bash -euo pipefail -c 'in_container "$@"' bash \
      "$state.root" "$size" "${volumes[@]}" -- "$@") || refuse "$name did not start"
    echo "$process" > "$state"
    printf '%s\n' "${environment[@]}" > "$state.environment"
    echo "$process"
    ;;
  exec)
    state=$work/state/$(hostname).$1
    shift
    mapfile -t environment < <(cat "$work/state/environment" "$state.environment")
    exec nsenter --target "$(cat "$state")" --mount --ipc --root env -i --chdir=/scratch HOME=/home/tandem \
      PATH="$work/image/bin:/usr/sbin:/usr/bin:/sbin:/bin" "${environment[@]}" "$@"
    ;;
  stop)
    state=$work/state/$(hostname).$1
    kill "$(cat "$state")"
    rm "$state"
    ;;
  *) refuse "no command $verb" ;;
esac
