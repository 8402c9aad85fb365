# Sourced by fetch_cifar10.sh and fetch_mnist.sh: downloads one file, resumably, under its name only when it is right.
# shellcheck shell=bash

case ${1:-} in
  -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
  -*) echo "$0: '$1' is not an option; $0 --help says what is expected" >&2; exit 2 ;;
esac

# check_file FILE MD5 [SHA256]: succeeds where FILE has these digests.
check_file() {
  local file=$1 md5=$2 sha256=${3:-}
  echo "$md5  $file" | md5sum --check --status || return 1
  [ -z "$sha256" ] || echo "$sha256  $file" | sha256sum --check --status
}

# download URL PART: goes on where PART ends, or begins again where the server
# has no ranges (33).
download() {
  local url=$1 part=$2 code=0 meter=--no-progress-meter
  [ ! -t 2 ] || meter=--progress-bar
  local call=(curl --proto '=https,file' --proto-redir '=https' --fail --location --retry 3 "$meter"
              --output "$part" "$url")
  "${call[@]}" --continue-at - || code=$?
  [ "$code" = 33 ] || return "$code"
  rm -f "$part"
  "${call[@]}"
}

# fetch URL FILE MD5 [SHA256]: does nothing where FILE is there and right. Exit codes: 65 wrong content, 69 no download.
fetch() {
  local url=$1 file=$2 md5=$3 sha256=${4:-}
  local part=$file.part
  if [ -e "$file" ] && check_file "$file" "$md5" "$sha256"; then
    echo "$file: is there already"
    return
  fi
  echo "$file: from $url"
  # A whole download that was not yet renamed would make curl ask for what comes after its end.
  if ! { [ -e "$part" ] && check_file "$part" "$md5" "$sha256"; }; then
    if ! download "$url" "$part"; then
      echo "$0: $url: the download failed; run this again, it goes on where it stopped" >&2
      return 69
    fi
  fi
  if ! check_file "$part" "$md5" "$sha256"; then
    rm -f "$part"
    echo "$0: $url: the content is not what its publisher announced (MD5 $md5 expected); it was removed, run this again" >&2
    return 65
  fi
  mv "$part" "$file"
}
