#!/bin/bash
# expect_failure.sh TEXT COMMAND…: succeeds where COMMAND fails and its output, taken as one line, matches the regular
# expression TEXT ("[" and "]" stand for themselves).
set -uo pipefail
pattern=${1//\[/\\[}
pattern=${pattern//\]/\\]}
shift
output=$("$@" 2>&1)
code=$?
printf '%s\n' "$output"
if [ $code -eq 0 ]; then
  echo "expect_failure: the command ended with 0, a failure was expected" >&2
  exit 1
fi
if ! tr '\n' ' ' <<< "$output" | grep -q -- "$pattern"; then
  echo "expect_failure: it failed with $code, but its output does not match: $pattern" >&2
  exit 1
fi
