# shellcheck shell=bash
# Functions of Makefile.hpc that install Debian packages and say beforehand what an installation costs. bash, set -euo pipefail.

# shellcheck disable=SC2034  # WHEEL_COST is for Makefile.hpc
# Measured with the packages of `deps` on a bare Debian 12, and on 2 cores. Used where apt does not know better.
BARE_DEBIAN="about 440 packages: 390 MB to download, 1740 MB on disk"
UNPACK_MB_PER_MINUTE=350
PROGRAM_CORE_SECONDS=540
BUILD_MB=500
WHEEL_COST="about 3 GB to download, 5 GB on disk"

# missing_packages PACKAGE…: those of them that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || :)" = installed ] || echo "$package"
  done
}

# packages_cost PACKAGE…: what apt says of installing them; the measured values while apt has no package lists. Not as root.
packages_cost() {
  LC_ALL=C apt-get install --print-uris -y --no-install-recommends "$@" 2> /dev/null | awk -v bare="$BARE_DEBIAN" '
    / newly installed, / { packages = $3 }
    /^Need to get / { sub(/^Need to get ([^ ]* B\/)?/, ""); sub(/ of archives.*/, ""); download = $0 }
    /^After this operation, .* additional/ { sub(/^After this operation, /, ""); sub(/ of additional.*/, ""); disk = $0 }
    END {
      if (disk == "") print bare
      else printf "%s package%s: %s to download, %s on disk\n", packages, packages == 1 ? "" : "s", download, disk
    }' || :
}

# about_minutes SECONDS
about_minutes() {
  if [ "$1" -lt 90 ]; then echo "about 1 minute"; else echo "about $((($1 + 30) / 60)) minutes"; fi
}

# unpack_seconds COST: how long packages take that need so much disk.
unpack_seconds() {
  awk -v cost="$1" -v rate="$UNPACK_MB_PER_MINUTE" 'BEGIN {
    gsub(/,/, "", cost); sub(/.*download /, "", cost); split(cost, part, " ")
    print int(part[1] * (part[2] == "GB" ? 1000 : part[2] == "kB" ? 0.001 : 1) * 60 / rate)
  }'
}

# Reads apt's status lines, KIND:PACKAGE:PERCENT:TEXT. Redraws one line on a terminal; in a log, a line every 10 s.
show_apt_progress() {
  local kind percent text period=10 next=0 start="deps: " end=$'\n'
  if [ -t 1 ]; then
    period=1 start=$'\r\033[Kdeps: ' end=
  fi
  while IFS=: read -r kind _ percent text; do
    case $kind in
      dlstatus) kind=download ;;
      pmstatus) kind=installation ;;
      *) continue ;;
    esac
    [ "$SECONDS" -ge "$next" ] || continue
    next=$((SECONDS + period))
    printf '%s%s %s %%  %s%s' "$start" "$kind" "${percent%%.*}" "${text:0:50}" "$end"
  done
  printf '%sinstalled\n' "$start"
}

is_debian() { command -v dpkg-query > /dev/null; }

# For systems other than Debian: fails and lists missing build programs. cmake/Dependencies.cmake lists missing libraries.
require_tools() {
  local missing=() version python_modules
  c++ --version > /dev/null 2>&1 || missing+=("a C++17 compiler as c++: GCC 11 or later, or Clang")
  version=$(cmake --version 2> /dev/null | sed -n '1s/.* //p' || :)
  [ "$(printf '%s\n' 3.22 "$version" | sort -V | head -n 1)" = 3.22 ] ||
    missing+=("CMake 3.22 or later${version:+ (found $version)}; pip install cmake is one way")
  command -v ninja > /dev/null || missing+=("ninja; pip install ninja is one way")
  python_modules=$(for module in numpy h5py PIL; do python3 -c "import $module" 2> /dev/null || echo "$module"; done)
  # shellcheck disable=SC2086  # a word for each
  [ -z "$python_modules" ] || echo "deps: tests also need Python with" $python_modules
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "deps: this is not Debian, and these are missing:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  echo "fix: install them; then repeat the command, which names missing libraries" >&2
  return 1
}

# install_packages PACKAGE…: asks apt for the missing ones, and for nothing if none is missing.
install_packages() {
  local missing=() sudo=() log
  if ! is_debian; then
    echo "deps: this is not Debian; install the contents of these packages: $*"
    return
  fi
  readarray -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  echo "deps: installing ${missing[*]}" | fold -s -w 100
  "${sudo[@]}" apt-get -qq update
  echo "deps: $(packages_cost "${missing[@]}")"
  log=$(mktemp)
  # sudo closes all descriptors above 2, so apt's status leaves by standard output and its words by standard error.
  # shellcheck disable=SC2016
  if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -c 'exec apt-get "$@" 3>&1 >&2' apt-get -qq \
    -o Dpkg::Use-Pty=0 -o APT::Status-Fd=3 install -y --no-install-recommends "${missing[@]}" 2> "$log" | show_apt_progress; then
    tail -n 30 "$log" >&2
    echo "deps: apt-get failed; all it said: $log" >&2
    return 1
  fi
  rm -f "$log"
}

# announce_demo FOLDER JOBS PACKAGE…: what `make demo` will download, how much disk it takes and how long.
announce_demo() {
  local folder=$1 jobs=$2 missing=() cost cores="$2 cores"
  shift 2
  [ "$jobs" != 1 ] || cores="1 core"
  echo "demo: installs packages, compiles tandem, trains with 2 ranks and evaluates"
  if ! is_debian; then
    echo "  packages  this is not Debian: deps names those that are missing"
  else
    readarray -t missing < <(missing_packages "$@")
    if [ ${#missing[@]} -eq 0 ]; then
      echo "  packages  all are installed"
    else
      cost=$(packages_cost "${missing[@]}")
      echo "  packages  $cost, $(about_minutes "$(unpack_seconds "$cost")"); as root or by sudo"
    fi
  fi
  if [ -x "$folder/bin/tandem" ]; then
    echo "  program   is in $folder/; only changes are compiled"
  else
    echo "  program   $BUILD_MB MB in $folder/, $(about_minutes $((PROGRAM_CORE_SECONDS / jobs))) on $cores"
  fi
  echo "  demo      100 MB in $folder/demo/, about 1 minute"
}
