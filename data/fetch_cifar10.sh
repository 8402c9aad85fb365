#!/usr/bin/env bash
# Downloads CIFAR-10 (binary form, 170 MB) into a folder: data/fetch_cifar10.sh [FOLDER], default the present one.
# MD5 as on https://www.cs.toronto.edu/~kriz/cifar.html; SHA-256 of the same file. TANDEM_FETCH_BASE names a mirror.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=fetch.sh
. "$(dirname "${BASH_SOURCE[0]}")/fetch.sh"

folder=${1:-.}
base=${TANDEM_FETCH_BASE:-https://www.cs.toronto.edu/~kriz}
mkdir -p "$folder"
fetch "$base/cifar-10-binary.tar.gz" "$folder/cifar-10-binary.tar.gz" \
      c32a1d4ab5d03f1284b67883e8d87530 c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd
echo "next: tandem pack --input $folder/cifar-10-binary.tar.gz --output cifar10.h5"
