#!/usr/bin/env python3
"""Asserts that h5py sees the documented layout in a packed file: read_packed_with_h5py.py FILE.h5

Needs h5py and numpy. Prints one line and exits with 0, or ends with the assertion that failed.
"""
import hashlib
import struct
import sys
import zlib

import h5py
import numpy as np


def check_user_block(path):
    with open(path, "rb") as file:
        block, rest = file.read(512), file.read()
    if block.startswith(b"\x89HDF"):
        return "unsealed"
    assert block[:16] == b"tandem-dataset\r\n"
    assert struct.unpack("<IIQ", block[16:32]) == (1, 512, len(rest))
    assert block[32:96].decode("ascii") == hashlib.sha256(rest).hexdigest()
    assert block[96:508] == bytes(412)
    assert struct.unpack("<I", block[508:])[0] == zlib.crc32(block[:508])
    return "sealed"


def check_split(group, classes):
    images, labels = group["images"], group["labels"]
    assert images.dtype == np.uint8 and images.ndim == 4, images
    assert labels.dtype == np.uint8 and labels.shape == images.shape[:1], labels
    assert images.fletcher32 and labels.fletcher32
    assert images.chunks is not None and labels.chunks is not None
    assert labels[:].max() < len(classes)
    return images


def check(path):
    seal = check_user_block(path)
    with h5py.File(path, "r") as file:
        assert file.userblock_size == (512 if seal == "sealed" else 0)
        attributes = file.attrs
        assert set(attributes) == {"format", "version", "name", "classes", "mean", "std", "source_sha256", "complete"}
        assert attributes["format"] == "tandem-dataset"
        assert attributes["version"] == 1 and attributes["complete"] == 1
        assert isinstance(attributes["name"], str) and len(attributes["source_sha256"]) == 64
        classes = list(attributes["classes"])
        assert all(isinstance(name, str) for name in classes)
        assert set(file) == {"train", "test"}
        train, test = (check_split(file[name], classes) for name in ("train", "test"))
        assert train.shape[1:] == test.shape[1:]
        counts = np.zeros((train.shape[1], 256), np.int64)
        for first in range(0, len(train), 1000):
            block = train[first:first + 1000]
            counts += [np.bincount(block[:, channel].ravel(), minlength=256) for channel in range(train.shape[1])]
        values = np.arange(256) / 255
        mean = counts @ values / counts.sum(1)
        std = np.sqrt(counts @ values**2 / counts.sum(1) - mean**2)
        np.testing.assert_allclose(attributes["mean"], mean, atol=1e-9)
        np.testing.assert_allclose(attributes["std"], std, atol=1e-9)
        print(f"{attributes['name']}: {seal}, {len(train)} + {len(test)} images {train.shape[1:]}, {len(classes)} classes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check(sys.argv[1])
