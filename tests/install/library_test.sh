#!/bin/bash
# library_test.sh BUILD CMAKE COMPILER MPIEXEC PREFIXES: what `cmake --install` makes of BUILD can be moved, and a project
# that has nothing of ours but that (examples/own-loop) is configured, built and run on two ranks against it. PREFIXES are
# where BUILD found its libraries.
set -euo pipefail
build=$1 cmake=$2 compiler=$3 mpiexec=$4 prefixes=$5
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d -t tandem-install-XXXXXX)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "library_test: $*" >&2
  exit 1
}

"$cmake" --install "$build" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/moved"
package=$(dirname "$(find "$work/moved" -name tandemConfig.cmake)")
! grep -rn -e "$source" -e "$build" -e "$work/first" "$package" || fail "the CMake package names where it was made"
version=$(sed -n 's/^project(tandem VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
[ -f "$work/moved/share/tandem/modulefiles/tandem/$version" ] || fail "there is no module file of version $version"
[ ! -e "$work/moved/include/tandem/app" ] || fail "the headers of the program are no library"

cp -r "$source/examples/own-loop" "$work/own-loop"
"$cmake" -S "$work/own-loop" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/moved;$prefixes"
"$cmake" --build "$work/build"
# The wheel's libtorch may lie in the source tree, and is no file of it.
! sed "s|$source/.deps/||g" "$work/build/build.ninja" | grep -n -e "$source/" -e "$build/" || fail "the example was built with files of the source tree"

cd "$work"
moved/bin/tandem pack --input synthetic --images 2000 --output data.h5
"$mpiexec" -n 2 build/own-loop data.h5 weights.safetensors | tee words
grep -q "on 2 equal ranks" words || fail "two ranks were asked for"
# Guessing among ten classes is 0.1.
awk '/^test accuracy/ { found = $3 } END { exit !(found > 0.5) }' words || fail "the example has not learnt"
head -c 1000 weights.safetensors | grep -aq "edges.weight" || fail "the weights were not written"
code=0
"$mpiexec" -n 2 build/own-loop absent.h5 weights.safetensors > /dev/null 2> errors || code=$?
[ $code -eq 66 ] || fail "a missing data set ends with $code, 66 was expected"
[ "$(grep -c '^tandem: error: ' errors)" = 1 ] || fail "one message was expected: $(cat errors)"
