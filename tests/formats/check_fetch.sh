#!/usr/bin/env bash
# Tests data/fetch*.sh without a network: check_fetch.sh. The files come from a folder by file:// URLs.
set -euo pipefail
data=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/mirror" "$work/out"
head -c 100000 /dev/urandom > "$work/mirror/file"
md5=$(md5sum < "$work/mirror/file" | cut -d' ' -f1)
sha256=$(sha256sum < "$work/mirror/file" | cut -d' ' -f1)

fail() { echo "check_fetch.sh: $1" >&2; exit 1; }

# try CODE ARGUMENTS...: runs fetch in a process of its own and expects its exit code.
try() {
  local expected=$1 code=0
  shift
  bash -c 'set -euo pipefail; . "$1"; shift; fetch "$@"' "$0" "$data/fetch.sh" "$@" > "$work/log" 2>&1 || code=$?
  [ "$code" = "$expected" ] || { cat "$work/log" >&2; fail "exit code $code, $expected expected: $*"; }
}

url=file://$work/mirror/file out=$work/out/file
try 0 "$url" "$out" "$md5" "$sha256"
cmp -s "$out" "$work/mirror/file" || fail "the file differs"
try 0 file:///absent "$out" "$md5"                        # there already: nothing is asked for
grep -q 'there already' "$work/log" || fail "a right file was fetched again"

rm "$out"
head -c 40000 "$work/mirror/file" > "$out.part"            # an interrupted download
try 0 "$url" "$out" "$md5" "$sha256"
cmp -s "$out" "$work/mirror/file" || fail "the resumed file differs"
[ ! -e "$out.part" ] || fail "a part was left"

rm "$out"
mkdir "$work/bin"
curl=$(command -v curl)
cat > "$work/bin/curl" << CURL
#!/bin/bash
# A server without ranges.
[[ " \$* " != *" --continue-at "* ]] || { [ ! -s "$out.part" ] || exit 33; }
exec "$curl" "\$@"
CURL
chmod +x "$work/bin/curl"
head -c 40000 "$work/mirror/file" > "$out.part"            # an interrupted download that cannot be resumed
PATH=$work/bin:$PATH try 0 "$url" "$out" "$md5" "$sha256"
cmp -s "$out" "$work/mirror/file" || fail "the file that was begun again differs"

rm "$out"
cp "$work/mirror/file" "$out.part"                         # interrupted between download and rename
try 0 file:///absent "$out" "$md5" "$sha256"

echo damaged > "$out"                                      # a wrong file under the name is replaced
try 0 "$url" "$out" "$md5"
cmp -s "$out" "$work/mirror/file" || fail "the damaged file was kept"

rm "$out"
try 65 "$url" "$out" 0123456789abcdef0123456789abcdef
try 65 "$url" "$out" "$md5" "${sha256//[0-9]/0}"
try 69 file:///absent "$out" "$md5"
try 69 http://localhost/file "$out" "$md5"                 # no encryption, no download
[ -z "$(ls -A "$work/out")" ] || fail "something was left: $(ls -A "$work/out")"

# The scripts themselves, from a mirror that has the wrong content under the right names.
for script in fetch_cifar10 fetch_mnist; do
  for name in cifar-10-binary.tar.gz train-images-idx3-ubyte.gz; do echo "<html>" > "$work/mirror/$name"; done
  code=0
  TANDEM_FETCH_BASE=file://$work/mirror "$data/$script.sh" "$work/out" > "$work/log" 2>&1 || code=$?
  [ "$code" = 65 ] || fail "$script.sh: exit code $code, 65 expected"
done
[ -z "$(ls -A "$work/out")" ] || fail "something was left: $(ls -A "$work/out")"
for script in fetch_cifar10.sh fetch_mnist.sh; do
  (cd "$work" && "$data/$script" --help) | grep -q "data/$script \[FOLDER\]" || fail "$script --help shows no usage"
  ! (cd "$work" && "$data/$script" --hepl 2> "$work/log") || fail "$script accepts an unknown option"
done
echo ok
