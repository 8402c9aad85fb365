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


def seal_version2(path, pictures):
    """Adds the table of digests and the user block to a file whose arrays of pictures have these offsets and lengths."""
    content = bytearray(path.read_bytes())
    bounds = sorted({512, len(content), *(at for begin, size in pictures for at in (begin, begin + size))})
    blocks = b"".join(struct.pack("<QQQ", begin, end - begin, any(begin == at for at, _ in pictures))
                      + hashlib.sha256(content[begin:end]).hexdigest().encode() for begin, end in zip(bounds, bounds[1:]))
    table = b"tandem-table-1\r\n" + struct.pack("<Q", len(bounds) - 1) + blocks
    block = bytearray(512)
    block[0:16] = b"tandem-dataset\r\n"
    block[16:32] = struct.pack("<IIQ", 2, 512, len(content) - 512 + len(table))
    block[32:104] = hashlib.sha256(table).hexdigest().encode() + struct.pack("<Q", len(table))
    block[508:] = struct.pack("<I", zlib.crc32(bytes(block[:508])))
    content[:512] = block
    path.write_bytes(content + table)


def resealed(content):
    """A file of version 2 whose blocks were changed, with a table of digests and a user block that fit."""
    content = bytearray(content)
    table = len(content) - int.from_bytes(content[96:104], "little")
    for entry in range(table + 24, len(content), 88):
        begin, size = struct.unpack_from("<QQ", content, entry)
        content[entry + 24:entry + 88] = hashlib.sha256(content[begin:begin + size]).hexdigest().encode()
    content[32:96] = hashlib.sha256(content[table:]).hexdigest().encode()
    content[508:512] = struct.pack("<I", zlib.crc32(bytes(content[:508])))
    return bytes(content)


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
