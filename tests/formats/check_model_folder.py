#!/usr/bin/env python3
"""Checks every pair of files in a folder that `model_files write FOLDER` has filled, and writes each network's weights
again with the safetensors package, as NAME.python.safetensors, for `model_files compare FOLDER`.

    check_model_folder.py FOLDER
"""

import hashlib
import pathlib
import sys

import safetensors.torch

from check_model_file import check_logits, check_weights, load_weights, parse_shape, safetensors_header


def weights_sha256(weights):
    """The digest of the user contract: all tensors, names sorted bytewise, row-major bytes."""
    digest = hashlib.sha256()
    for name in sorted(weights, key=str.encode):
        digest.update(weights[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def main():
    folder = pathlib.Path(sys.argv[1])
    examples = sorted(folder.glob("*.example.safetensors"))
    assert examples, f"{folder}: no *.example.safetensors"
    for example in examples:
        stem = str(example).removesuffix(".example.safetensors")
        metadata = safetensors_header(stem + ".safetensors")["__metadata__"]
        network = metadata["model"], parse_shape(metadata["input_shape"]), int(metadata["classes"])
        digest = weights_sha256(load_weights(stem + ".pth"))
        assert digest == metadata["weights_sha256"], f"{stem}: weights_sha256 is {digest} in Python"
        for path in (stem + ".pth", stem + ".safetensors"):
            check_weights(path, *network)
            print(f"{path}: logits within {check_logits(path, *network, str(example)):.1e}")
        safetensors.torch.save_file(load_weights(stem + ".pth"), stem + ".python.safetensors",
                                    metadata={"format": "pt"})


if __name__ == "__main__":
    main()
