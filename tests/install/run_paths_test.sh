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
  local program=$1 engine needed
  engine=$(dirname "$(dirname "$program")")/lib/tandem/libtandem_engine.so
  ! ldd "$program" | grep -E "libtorch|libc10" || fail "$program loads libtorch before it needs a tensor"
  [ "$("$program" info --libraries | head -1)" = "$engine" ] || fail "$program does not find $engine"
  needed=$(ldd "$program" && ldd "$engine")
  ! grep "not found" <<< "$needed" || fail "$program or its engine lacks a library"
  grep -q libtorch_cpu <<< "$needed" || fail "the engine does without libtorch"
  ! grep -E "libtorch_cuda|libnccl|libcuda\.so" <<< "$needed" || fail "$program loads these even where no GPU is used"
  # An empty path is the working folder.
  for file in "$program" "$engine"; do
    [[ ":$(run_paths_of "$file"):" != *::* ]] || [ -z "$(run_paths_of "$file")" ] || fail "$file has an empty run path"
  done
  (cd / && "$program" --version | tee /dev/stderr | grep -qF ", GPU libraries: built $built_for") || fail "--version does not say '$built_for'"
}

check "$build/bin/tandem"

"$cmake" --install "$build" --prefix "$work/installed" --component program > /dev/null
check "$work/installed/bin/tandem"
# shellcheck disable=SC2016  # $ORIGIN is the loader's
[[ $(run_paths_of "$work/installed/bin/tandem")$(run_paths_of "$work/installed/lib/tandem/libtandem_engine.so") != *'$ORIGIN'* ]] ||
  fail "what is installed looks beside itself"

# Fakes in place of the installed engine: an engine of another build, and a library that is none.
refuses_engine() {
  local message=$1 code=0
  touch "$work/model.safetensors"
  "$work/installed/bin/tandem" inspect "$work/model.safetensors" 2> "$work/refused" || code=$?
  [ $code = 69 ] || fail "a foreign engine gives exit code $code, 69 was expected: $(cat "$work/refused")"
  grep -qF "$work/installed/lib/tandem/libtandem_engine.so: $message" "$work/refused" || fail "not '$message' but $(cat "$work/refused")"
  grep -qF "make -f Makefile.hpc install" "$work/refused" || fail "no fix in $(cat "$work/refused")"
}
fake_engine() { gcc -shared -o "$work/installed/lib/tandem/libtandem_engine.so" -x c - <<< "$1"; }
fake_engine 'const char* tandem_engine_version(void) { return "0.1.0 000000000000"; }'
refuses_engine "the engine is tandem 0.1.0 000000000000, this program is tandem 0.1.0"
fake_engine 'int other;'
refuses_engine "is not the engine of this program"
rm "$work/installed/lib/tandem/libtandem_engine.so"

if [ "$built_for" != "without CUDA" ]; then
  mkdir "$work/broken"
  : > "$work/broken/libnccl.so.2"
  LD_LIBRARY_PATH=$work/broken "$build/bin/tandem" info > "$work/info"
  grep -qF "built $built_for; found libnccl.so.2 cannot be opened: $work/broken/libnccl.so.2: file too short; " "$work/info" ||
    fail "info does not say why NCCL cannot be used: $(grep '^gpu' "$work/info")"
fi

# A libtorch outside the system's folders: the same places below another root.
engine=lib/tandem/libtandem_engine.so
if [[ ":$(run_paths_of "$build/$engine"):" == *":$libtorch:"* ]]; then
  moved=$work/root$build
  mkdir -p "$moved/lib/tandem" "$work/root$(dirname "$libtorch")"
  cp "$build/$engine" "$moved/$engine"
  ln -s "$libtorch" "$work/root$libtorch"
  found=$(library_of "$moved/$engine" libtorch_cpu.so)
  [ "$(realpath --no-symlinks "$found")" = "$work/root$libtorch/libtorch_cpu.so" ] ||
    fail "the moved engine takes $found, its own libtorch was expected"
fi
