#!/bin/bash
# run_paths_test.sh BUILD CMAKE LIBTORCH BUILT_FOR: bin/tandem finds every library, where it was built, where all of it was
# moved together with libtorch (the folder LIBTORCH), and where it alone was installed; and it starts without a GPU's
# libraries, which it names (BUILT_FOR) and opens by itself.
set -euo pipefail
build=$1 cmake=$2 libtorch=$3 built_for=$4
work=$(mktemp -d -t tandem-run-paths-XXXXXX)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "run_paths_test: $*" >&2
  exit 1
}

run_paths_of() { objdump -p "$1" | awk '$1 ~ /^(RUNPATH|RPATH)$/ { print $2 }'; }
library_of() { ldd "$1" | awk -v name="$2" '$1 == name { print $3 }'; }

check() {
  local program=$1 needed
  needed=$(ldd "$program")
  ! grep "not found" <<< "$needed" || fail "$program lacks a library"
  ! grep -E "libtorch_cuda|libnccl|libcuda\.so" <<< "$needed" || fail "$program loads these even where no GPU is used"
  # An empty path is the working folder.
  [[ ":$(run_paths_of "$program"):" != *::* ]] || [ -z "$(run_paths_of "$program")" ] || fail "$program has an empty run path"
  (cd / && "$program" --version | tee /dev/stderr | grep -qF ", GPU libraries: built $built_for") || fail "--version does not say '$built_for'"
}

check "$build/bin/tandem"

"$cmake" --install "$build" --prefix "$work/installed" --component program > /dev/null
check "$work/installed/bin/tandem"
# shellcheck disable=SC2016  # $ORIGIN is the loader's
[[ $(run_paths_of "$work/installed/bin/tandem") != *'$ORIGIN'* ]] || fail "what is installed looks beside itself"

if [ "$built_for" != "without CUDA" ]; then
  mkdir "$work/broken"
  : > "$work/broken/libnccl.so.2"
  LD_LIBRARY_PATH=$work/broken "$build/bin/tandem" info > "$work/info"
  grep -qF "built $built_for; found libnccl.so.2 cannot be opened: $work/broken/libnccl.so.2: file too short; " "$work/info" ||
    fail "info does not say why NCCL cannot be used: $(grep '^gpu' "$work/info")"
fi

# A libtorch outside the system's folders: the same places below another root.
if [[ ":$(run_paths_of "$build/bin/tandem"):" == *":$libtorch:"* ]]; then
  moved=$work/root$build/bin
  mkdir -p "$moved" "$work/root$(dirname "$libtorch")"
  cp "$build/bin/tandem" "$moved/tandem"
  ln -s "$libtorch" "$work/root$libtorch"
  found=$(library_of "$moved/tandem" libtorch_cpu.so)
  [ "$(realpath --no-symlinks "$found")" = "$work/root$libtorch/libtorch_cpu.so" ] ||
    fail "the moved program takes $found, its own libtorch was expected"
fi
