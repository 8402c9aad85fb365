"""Valid packed files with every type of HDF5's chunk index, written by h5py, and the seal before them."""

import hashlib
import os
import struct
import zlib

# A process that is forked while another thread has a file open keeps the file's lock.
os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"

import h5py
import numpy

BLOCK = 512

BASES = {
    "btree1": {"libver": ("earliest", "v110")},
    "gzip": {"libver": ("earliest", "v110"), "dataset": {"compression": "gzip", "shuffle": True}},
    "split": {"libver": ("earliest", "v110"), "chunks": (4, 1, 4, 8)},
    "fixed_array": {"libver": ("v110", "v110")},
    "extensible_array": {"libver": ("v110", "v110"), "dataset": {"maxshape": (None, 3, 8, 8)}},
    "btree2": {"libver": ("v110", "v110"), "dataset": {"maxshape": (None, None, 8, 8)}},
    "single": {"libver": ("v110", "v110"), "chunks": (20, 3, 8, 8)},
}


def sealed(rest):
    block = bytearray(BLOCK)
    block[0:16] = b"tandem-dataset\r\n"
    block[16:32] = struct.pack("<IIQ", 1, BLOCK, len(rest))
    block[32:96] = hashlib.sha256(rest).hexdigest().encode()
    block[508:512] = struct.pack("<I", zlib.crc32(bytes(block[:508])))
    return bytes(block) + rest


def write_base(path, libver, chunks=(5, 3, 8, 8), dataset=None, change=None, shape=(20, 3, 8, 8)):
    """Returns the file without its user block. `change` is called with the open file, at its end."""
    random = numpy.random.default_rng(1)
    images = random.integers(0, 256, shape, dtype=numpy.uint8)
    images[::2] //= 64  # so that gzip can compress them
    labels = numpy.arange(len(images), dtype=numpy.uint8) % 2
    with h5py.File(path, "w", libver=libver, userblock_size=BLOCK) as file:
        for split in ("train", "test"):
            file.create_dataset(f"{split}/images", data=images, chunks=chunks, fletcher32=True, **(dataset or {}))
            file.create_dataset(f"{split}/labels", data=labels, chunks=(min(7, len(images)),), fletcher32=True)
        for name, value in (("format", "tandem-dataset"), ("version", 1), ("name", "own"), ("classes", ["cat", "dog"]),
                            ("mean", (images / 255).mean(axis=(0, 2, 3))), ("std", (images / 255).std(axis=(0, 2, 3))),
                            ("source_sha256", hashlib.sha256(images.tobytes()).hexdigest()), ("complete", 1)):
            file.attrs[name] = value
        if change:
            change(file)
    return bytearray(path.read_bytes()[BLOCK:])
