#!/usr/bin/env bash
# Downloads MNIST (four files, 11 MB) into a folder: data/fetch_mnist.sh [FOLDER], default ./mnist.
# MD5 as in torchvision, which uses the same mirror. TANDEM_FETCH_BASE names another.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=fetch.sh
. "$(dirname "${BASH_SOURCE[0]}")/fetch.sh"

folder=${1:-mnist}
base=${TANDEM_FETCH_BASE:-https://ossci-datasets.s3.amazonaws.com/mnist}
mkdir -p "$folder"
while read -r name md5; do
  fetch "$base/$name" "$folder/$name" "$md5"
done <<'FILES'
train-images-idx3-ubyte.gz f68b3c2dcbeaaa9fbdd348bbdeb94873
train-labels-idx1-ubyte.gz d53e105ee54ea40749a09fcbcd1e9432
t10k-images-idx3-ubyte.gz 9fb629c4189551a2d022fa330f9573f3
t10k-labels-idx1-ubyte.gz ec29112dd5afa0611ce80d1b7f02629c
FILES
echo "next: tandem pack --input $folder --output mnist.h5"
