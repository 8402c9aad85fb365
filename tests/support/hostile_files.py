"""Hostile packed files: mutated in the structures that the HDF5 library follows, then sealed, as anybody can."""

import json
import multiprocessing
import os
import struct
import subprocess
import time

import numpy

from packed_files import BASES, BLOCK, h5py, sealed, write_base
from tandem import PROGRAM

MOST_SECONDS = 2  # of processor time, to refuse or to read
UNDEFINED = 2**64 - 1
# Small sizes, lengths that overflow, undefined addresses.
NUMBERS = [0, 1, 2, 3, 4, 5, 255, 256, 65535, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, UNDEFINED - 1, UNDEFINED]

class Base:
    """A valid file without its user block, and the offsets of its structures."""

    def __init__(self, folder, name):
        self.name = name
        path = folder / f"base-{name}.h5"
        self.rest = write_base(path, **BASES[name])
        self.chunks = []  # offset in `rest`, stored bytes
        with h5py.File(path, "r") as file:
            for split in ("train", "test"):
                for kind in ("images", "labels"):
                    at = file[f"{split}/{kind}"].id
                    for i in range(at.get_num_chunks()):
                        info = at.get_chunk_info(i)
                        # HDF5 1.10 counts from the end of the user block.
                        offset = info.byte_offset
                        self.chunks.append((offset, info.size))
        taken = set()
        for offset, size in self.chunks:
            taken.update(range(offset, offset + size))
        self.metadata = [i for i in range(len(self.rest)) if i not in taken]
        self.signatures = [i for tag in (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"OHDR", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"BTHD",
                                         b"BTLF", b"\x89HDF")
                           for i in occurrences(self.rest, tag)]


def occurrences(content, tag):
    at = content.find(tag)
    while at >= 0:
        yield at
        at = content.find(tag, at + 1)


def put(content, at, value, size):
    value = (value % 2**(8 * size)).to_bytes(size, "little")
    content[at:at + size] = value[:max(len(content) - at, 0)]


def number_for(random, base):
    """A number that is meaningful to a parser of this file."""
    return random.choice([random.choice(NUMBERS), random.choice(base.chunks)[0], random.choice(base.chunks)[1],
                          random.choice(base.signatures), len(base.rest), random.randrange(len(base.rest) * 2)])


def place_in_metadata(random, base):
    if random.randrange(2):
        return min(random.choice(base.signatures) + random.randrange(64), len(base.rest) - 8)
    return min(random.choice(base.metadata), len(base.rest) - 8)


def mutate_bytes(random, base, rest, _):
    for _ in range(random.randrange(1, 9)):
        rest[place_in_metadata(random, base)] = random.randrange(256)


def mutate_numbers(random, base, rest, _):
    for _ in range(random.randrange(1, 4)):
        put(rest, place_in_metadata(random, base), number_for(random, base), random.choice([1, 2, 4, 8]))


def mutate_addresses(random, base, rest, _):
    """Another offset for a chunk, in any kind of index; two chunks may then overlap."""
    for _ in range(random.randrange(1, 3)):
        offset, size = random.choice(base.chunks)
        for at in occurrences(bytes(rest), struct.pack("<Q", offset)):
            put(rest, at, number_for(random, base), 8)
            if random.randrange(2):
                put(rest, max(at - 48, 0) + 4 * random.randrange(12), random.choice(NUMBERS), 4)


def mutate_chunk_sizes(random, base, rest, _):
    """In the keys of a version 1 B-tree, the stored size stands before the chunk's offsets."""
    for _ in range(random.randrange(1, 4)):
        size = random.choice(base.chunks)[1]
        places = list(occurrences(bytes(rest), struct.pack("<I", size)))
        if places:
            at = random.choice(places)
            put(rest, at, random.choice([0, 1, 2, 3, 4, 5, size - 1, size + 1, 2**31, 2**32 - 1]), 4)
            if random.randrange(3) == 0:
                put(rest, at + 4, random.choice([1, 2, 4, 7, 2**32 - 1]), 4)  # filters that were skipped


def splice(random, base, rest, _):
    size = random.choice([8, 16, 64, 256])
    source, target = (min(random.choice(base.metadata), len(rest) - size) for _ in range(2))
    rest[target:target + size] = rest[source:source + size]


def cut_or_extend(random, base, rest, _):
    if random.randrange(2):
        del rest[random.randrange(len(rest)):]
    else:
        rest += random.randbytes(random.randrange(1, 5000))


def write_directly(random, base, rest, path):
    """Stored chunks of any size and with any filter skipped, written by HDF5 itself."""
    def change(file):
        for _ in range(random.randrange(1, 4)):
            data = file[random.choice(["train", "test"])][random.choice(["images", "labels"])]
            origin = tuple(random.randrange(0, extent, chunk) for extent, chunk in zip(data.shape, data.chunks))
            size = random.choice([1, 2, 3, 4, 5, 7, 11, 192, 960, 964, 965, 5000])
            data.id.write_direct_chunk(origin, random.randbytes(size), random.choice([0, 0, 1, 2, 7]))
    rest[:] = write_base(path, **BASES[base.name], change=change)


def write_odd_attributes(random, base, rest, path):
    def change(file):
        for _ in range(random.randrange(1, 3)):
            name = random.choice(list(file.attrs))
            file.attrs[name] = random.choice([
                "x" * random.randrange(2000), float("nan"), numpy.full(3, -1.0), 2**62, ["a"] * random.randrange(1, 1500),
                numpy.zeros((3, 3)), numpy.float32([0.5] * 3), b"\xff" * 70, "", h5py.Empty("f"), numpy.array([b"\xc3" * 60], "S200")])
    rest[:] = write_base(path, **BASES[base.name], change=change)


def write_odd_datasets(random, base, rest, path):
    def change(file):
        split, kind = random.choice(["train", "test"]), random.choice(["images", "labels"])
        shape = random.choice([(20, 3, 8, 8), (20,), (19,), (20, 3, 8), (1, 1, 1, 1), (0, 3, 8, 8), (20, 4, 8, 8), (20, 3, 8, 0)])
        options = random.choice([{"fletcher32": True}, {}, {"scaleoffset": 3}, {"fletcher32": True, "compression": "lzf"},
                                 {"fletcher32": True, "shuffle": True, "compression": "gzip"}])
        if options and 0 not in shape:
            options["chunks"] = tuple(random.randrange(1, extent + 1) for extent in shape)
        del file[split][kind]
        if random.randrange(4) == 0:
            file[split][kind] = random.choice([h5py.SoftLink("/train/images"), h5py.ExternalLink("/etc/passwd", "/"), file])
        else:
            values = numpy.full(shape, random.choice([0, 1, 2, 255]), random.choice(["u1", "u1", "u1", "i1", "f4", "u2"]))
            file[split].create_dataset(kind, data=values, **({} if 0 in shape else options))
    rest[:] = write_base(path, **BASES[base.name], change=change)


MUTATIONS = [mutate_bytes, mutate_bytes, mutate_numbers, mutate_numbers, mutate_numbers, mutate_addresses, mutate_chunk_sizes, splice,
             cut_or_extend, write_directly, write_odd_attributes, write_odd_datasets]


class HostileFiles:
    def __init__(self, folder):
        self.folder = folder
        self.bases = [Base(folder, name) for name in BASES]

    def make(self, random, path):
        """Writes a file; returns a description of the mutation."""
        # Half of them version 1 B-trees without checksums, where a wrong number gets furthest.
        base = random.choice(self.bases[:3] if random.randrange(2) else self.bases)
        mutation = random.choice(MUTATIONS)
        rest = bytearray(base.rest)
        mutation(random, base, rest, path)
        path.write_bytes(sealed(bytes(rest)) if random.randrange(5) else bytes(rest))
        return f"{mutation.__name__} of {base.name}"

    def check(self, random, path):
        """`verify` refuses with 65, or reads what HDF5 reads; returns (mutation, whether refused, seconds)."""
        done = self.make(random, path)
        began = time.monotonic()
        said = subprocess.run(["prlimit", f"--cpu={MOST_SECONDS}", PROGRAM, "verify", path], text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        seconds = time.monotonic() - began
        assert said.returncode in (0, 65), f"{done}: exit code {said.returncode}: {said.stdout}; {keep(path)}"
        if said.returncode == 65:
            assert said.stdout.count("tandem: error: ") == 1, f"{done}: {said.stdout}"
        else:
            shown = json.loads(subprocess.run([PROGRAM, "inspect", "--json", path], stdout=subprocess.PIPE, timeout=120).stdout)
            expected = read_by_hdf5(path)
            assert expected is None or expected == facts_of(shown), f"{done}: {facts_of(shown)}, HDF5 reads {expected}; {keep(path)}"
        return done, said.returncode == 65, seconds


def keep(path):
    """Where a file that is a finding is kept for debugging."""
    kept = f"{path.with_suffix('')}.finding"
    os.replace(path, kept)
    return kept


def facts_of(shown):
    """`verify` has checked mean and std against the images that tandem read."""
    return {"counts": [shown["train_images"], shown["test_images"]], "shape": shown["shape"], "classes": shown["classes"],
            "mean": [round(value, 4) for value in shown["mean"]]}


def read_into(connection, path):
    with h5py.File(path, "r") as file:
        images = file["train/images"][:]
        classes = [name.decode() if isinstance(name, bytes) else str(name) for name in file.attrs["classes"]]
        connection.send({"counts": [len(images), len(file["test/images"][:])], "shape": list(images.shape[1:]), "classes": classes,
                         "mean": [round(float(value), 4) for value in (images / 255).mean(axis=(0, 2, 3))]})


def read_by_hdf5(path):
    """None if the library itself cannot read it, which does not mean that tandem must refuse it."""
    receive, send = multiprocessing.Pipe(False)
    reader = multiprocessing.get_context("fork").Process(target=read_into, args=(send, path))
    reader.start()
    send.close()
    reader.join(20)
    reader.kill()
    try:
        return receive.recv() if receive.poll(0) else None
    except EOFError:
        return None
