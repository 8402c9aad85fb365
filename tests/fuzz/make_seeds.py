#!/usr/bin/env python3
"""Writes tiny valid files, and some that are refused late, from which the fuzzers start: FOLDER/READER/NAME."""

import argparse
import gzip
import io
import json
import pathlib
import re
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib

# As in input.hpp.
ZERO_RUNS, CHECKSUMS, GZIP, LENGTH, SEAL = 1, 2, 4, 8, 16
BETWEEN_FILES = b"FILE"

CIFAR10_CLASSES = b"airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"
CIFAR10_NAMES = ["batches.meta.txt", *(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def flagged(flags, content=b""):
    if flags & ZERO_RUNS:
        content = re.sub(rb"\0{1,65535}", lambda run: b"\0" + struct.pack("<H", len(run[0])), content)
    return bytes([flags]) + content


def idx(extents, values):
    return bytes([0, 0, 8, len(extents)]) + struct.pack(f">{len(extents)}I", *extents) + values


def idx_seeds():
    files = [idx([3, 2, 2], bytes(range(12))), idx([3], b"\0\1\2"), idx([1, 2, 2], bytes(4)), idx([1], b"\x09")]
    yield "plain", BETWEEN_FILES.join(flagged(0, file) for file in files)
    yield "zero_runs", BETWEEN_FILES.join(flagged(ZERO_RUNS, file) for file in files)
    yield "gzip", BETWEEN_FILES.join(flagged(GZIP, file) for file in files)
    yield "gzip_itself", BETWEEN_FILES.join(flagged(0, gzip.compress(file, mtime=0)) for file in files)
    parts = gzip.compress(files[0][:9], mtime=0) + gzip.compress(files[0][9:], mtime=0)
    yield "gzip_parts", BETWEEN_FILES.join([flagged(0, parts), *(flagged(0, file) for file in files[1:])])
    files[3] = idx([1], b"\x0a")
    yield "label_10", BETWEEN_FILES.join(flagged(0, file) for file in files)


def cifar10_files():
    return [CIFAR10_CLASSES, *(bytes([i]) + bytes(3 * 32 * 32) for i in range(6))]


def cifar10_seeds():
    files = cifar10_files()
    yield "plain", BETWEEN_FILES.join(flagged(ZERO_RUNS, file) for file in files)
    yield "gzip", BETWEEN_FILES.join(flagged(ZERO_RUNS | GZIP, file) for file in files)
    yield "gzip_itself", BETWEEN_FILES.join(flagged(0, gzip.compress(file, mtime=0)) for file in files)
    yield "windows_lines", BETWEEN_FILES.join(
        [flagged(0, CIFAR10_CLASSES.replace(b"\n", b"\r\n")), *(flagged(ZERO_RUNS, file) for file in files[1:])])
    files[6] = b"\x0a" + files[6][1:]
    yield "label_10", BETWEEN_FILES.join(flagged(ZERO_RUNS, file) for file in files)
    yield "web_page", BETWEEN_FILES.join([flagged(0, CIFAR10_CLASSES), flagged(0, b"<html>")])


def tar(members, form, **fields):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=form) as writer:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for field, value in fields.items():
                setattr(member, field, value)
            writer.addfile(member, io.BytesIO(content))
    # One block of zeros ends an archive; the writer's padding to 10,240 bytes is only ballast.
    return archive.getvalue().rstrip(b"\0") + bytes(-len(archive.getvalue().rstrip(b"\0")) % 512 + 1024)


def tar_seeds():
    cifar10 = [(f"cifar-10-batches-bin/{name}", content) for name, content in zip(CIFAR10_NAMES, cifar10_files())]
    small = [("a.txt", b"abc"), ("b/c.txt", b"")]
    archives = {
        "cifar10": tar(cifar10, tarfile.USTAR_FORMAT),
        "cifar10_backwards": tar(reversed(cifar10), tarfile.GNU_FORMAT),
        "cifar10_twice": tar(cifar10[:2] + cifar10, tarfile.USTAR_FORMAT),
        "python_form": tar([("cifar-10-batches-py/data_batch_1", b"\x80\2.")], tarfile.USTAR_FORMAT),
        "small": tar(small, tarfile.USTAR_FORMAT),
        "folder": tar([("d/", b"")], tarfile.USTAR_FORMAT, type=tarfile.DIRTYPE),
        "link": tar([("l", b"")], tarfile.USTAR_FORMAT, type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        "prefix": tar([("p" * 90 + "/" + "n" * 90, b"abc")], tarfile.USTAR_FORMAT),
        "gnu_long_name": tar([("n" * 200, b"abc")], tarfile.GNU_FORMAT),
        "pax_time": tar(small, tarfile.PAX_FORMAT, mtime=1.5),
        "pax_path": tar([("ü" * 20, b"abc")], tarfile.PAX_FORMAT),
        "webdataset": tar([("a.jpg", b"x"), ("a.cls", b"1"), ("b.png", b"y"), ("b.json", b'{"label": 2}')], tarfile.PAX_FORMAT,
                          mtime=1.5),
        "outside": tar([("../a", b"abc")], tarfile.USTAR_FORMAT),
    }
    for name, archive in archives.items():
        yield name, flagged(ZERO_RUNS | CHECKSUMS, archive)
        yield name + "_gzip", flagged(ZERO_RUNS | CHECKSUMS | GZIP, archive)
    yield "gzip_itself", flagged(0, gzip.compress(archives["cifar10"], mtime=0))
    yield "plain_itself", flagged(0, archives["small"])


def safetensors_seeds():
    def entry(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    def file(header, data, flags=LENGTH):
        return flagged(flags, json.dumps(header, separators=(",", ":")).encode() + BETWEEN_FILES + data)

    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
    every, at = {}, 0
    for dtype, size in sizes.items():
        every[dtype] = entry(dtype, [1, 1], at, at + size)
        at += size
    yield "empty", file({}, b"")
    yield "every_type", file(every, bytes(at))
    yield "scalar", file({"a": entry("U8", [], 0, 1)}, b"x")
    yield "nothing", file({"a": entry("F32", [0, 3], 0, 0)}, b"")
    yield "bool_of_2", file({"a": entry("BOOL", [1], 0, 1)}, b"\2")
    yield "metadata", file({"__metadata__": {"format": "pt"}, "ü": entry("I16", [2], 0, 4)}, bytes(4))
    # The digests of the tensors are of no use where the seal is right, and are looked at where it is not.
    sealed = {"__metadata__": {"hash64": '{"a":"0123456789abcdef"}', "sha256": "0" * 64}, "a": entry("F32", [2], 0, 8)}
    yield "sealed", file(sealed, bytes(8), LENGTH | SEAL)
    yield "seal_is_wrong", file(sealed, bytes(8))
    # Too long for a file in regressions/: what a parser made of it took a hundred times its length.
    sealed["__metadata__"]["hash64"] = "[" * 8_000_000
    yield "nested_digests", file(sealed, bytes(8))
    text = b"{}" + b" " * 6
    yield "length_itself", flagged(0, struct.pack("<Q", len(text)) + text)
    yield "pth", flagged(0, b"PK\3\4" + bytes(26))


def picture_seeds():
    golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden" / "pictures.json").read_text())
    for case in golden["files"]:
        yield case["name"], flagged(CHECKSUMS if case["name"].endswith(".png") else 0, bytes.fromhex(case["hex"]))
    jpeg = next(bytes.fromhex(case["hex"]) for case in golden["files"] if case["name"].endswith(".jpg"))
    for name, order, tags, value in (("big", ">", 1, 6), ("little", "<", 1, 7), ("lying", ">", 0xffff, 6)):
        tag = struct.pack(order + "HHIHH", 0x112 if tags == 1 else 0x113, 3, 1, value, 0)
        exif = b"Exif\0\0" + (b"MM" if order == ">" else b"II") + struct.pack(order + "HIH", 42, 8, tags) + tag
        yield f"exif_{name}.jpg", flagged(0, jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[2:])
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 2, 0, 0, 0)), (b"iCCP", b"name\0\0" + bytes(9)),
              (b"IDAT", zlib.compress((b"\1" + bytes(range(12))) * 3, 0)), (b"IEND", b"")]
    stored = b"".join(struct.pack(">I", len(data)) + name + data + bytes(4) for name, data in chunks)
    yield "stored.png", flagged(CHECKSUMS, b"\x89PNG\r\n\x1a\n" + stored)


def npy(kind, shape, values):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + values


def npz_seeds():
    arrays = [npy("|u1", "(3, 2, 2)", bytes(range(12))), npy("<i8", "(3, 1)", struct.pack("<3q", 0, 2, 1)),
              npy("|u1", "(1, 2, 2)", b"abcd"), npy("|u1", "(1,)", b"\1")]
    yield "arrays", flagged(CHECKSUMS) + BETWEEN_FILES.join(arrays)
    colour = [npy("|u1", "(2, 1, 2, 3)", bytes(12)), npy("<u2", "(2,)", bytes(4)),
              npy("|u1", "(1, 1, 2, 3)", bytes(6)), npy("|i1", "(1,)", b"\xff")]
    yield "label_below_0", flagged(CHECKSUMS) + BETWEEN_FILES.join(colour)
    names = ("train_images", "train_labels", "test_images", "test_labels")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", method) as writer:
            for name, content in zip(names, arrays):
                # As numpy does it.
                with writer.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(content)
        yield f"archive_{method}", flagged(0, archive.getvalue())


def config_seeds():
    yield "every_kind", b"# a run\nmodel = mlp\nbatch-size = 32\nlr = 1e-3\nnesterov = true\nrun-id = a b\n"
    yield "unknown", b"batch_size=32\nlearning-rate=1\nworld-size = 2\n"
    yield "section", b"[train]\nlr = 0.1\n"
    yield "wrong_values", b"model = lennet\nbatch-size = -1\nlr = nan\nnesterov = maybe\n"
    yield "no_name", b"= 1\nlr\n"


def packed_seeds():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
    import packed_files
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "base.h5"
        for name, form in packed_files.BASES.items():
            form = dict(form, chunks=(2, 1, 2, 2), shape=(5, 1, 2, 3))
            if "maxshape" in form.get("dataset", {}):
                form["dataset"] = {"maxshape": tuple(extent and None for extent in form["dataset"]["maxshape"])}
            content = bytes(packed_files.write_base(path, **form))
            yield name, flagged(ZERO_RUNS | SEAL, content)
    chunks = [chunk_of(values) for values in (bytes(range(12)), b"\0\0", bytes(12), b"\0\0")]
    yield "description", flagged(LENGTH, description([len(chunk) for chunk in chunks])) + BETWEEN_FILES + b"".join(chunks)


def chunk_of(values):
    first = second = 0
    for high, low in zip(values[::2], values[1::2]):
        first = (first + 256 * high + low) % 65535
        second = (second + first) % 65535
    return values + struct.pack("<I", second << 16 | first)


def description(stored):
    """As encode() of src/data/packed/packed_catalog.cpp writes it, of four chunks of these sizes."""
    def text(value):
        return struct.pack("<I", len(value)) + value

    def numbers(kind, values):
        return struct.pack(f"<I{len(values)}{kind}", len(values), *values)

    arrays = b""
    for i, (extent, size) in enumerate(zip([[2, 1, 2, 3], [2]] * 2, stored)):
        arrays += numbers("Q", extent) * 2 + numbers("B", [1]) + struct.pack("<IQQI", 1, sum(stored[:i]), size, 0)
    return (text(b"set") + struct.pack("<I", 1) + text(b"a") + numbers("d", [0.5]) * 2 + text(b"0" * 64) + arrays)


def run_seeds():
    manifest = {"run_id": "a", "segments": [{"started": 1.5, "ranks": 2, "command": ["tandem", "train"]}], "data": {"name": "own"}}
    summary = {"exit_reason": "completed", "steps": 2, "test_accuracy": 0.5, "train_seconds": 1.0, "test_accuracy_tta": None}
    answers = {"step": 2, "classes": ["a", "b"], "confusion": [[1, 0], [2, 3]], "shape": [1, 1, 2],
               "worst": [{"index": 0, "label": 1, "predicted": 0, "loss": 2.5, "pixels": "AAE="}]}
    lines = [{"event": "step", "step": i, "epoch": 0, "time": i / 2, "loss": 2.0 / i, "images_per_second": 10} for i in (1, 2)]
    lines.append({"event": "eval", "step": 2, "epoch": 1, "time": 2, "test_accuracy": 0.5, "test_loss": 1.0})
    lines.append({"event": "checkpoint", "step": 2, "time": 2, "text": "<b>saved</b>"})
    ranks = [{"event": "step", "step": i, "rank": 0, "compute_seconds": 0.1, "data_seconds": 0.01} for i in (1, 2)]

    def jsonl(objects):
        return "".join(json.dumps(each) + "\n" for each in objects)

    files = [json.dumps(manifest), json.dumps(summary), json.dumps(answers), jsonl(lines), "[train]\nmodel = mlp\n", jsonl(ranks)]
    yield "whole", BETWEEN_FILES.join(file.encode() for file in files)
    yield "running", BETWEEN_FILES.join(file.encode() for file in [files[0], "", "", files[3][:-20], files[4], files[5]])
    yield "deep", BETWEEN_FILES.join([b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"[" * 100_000])


SEEDS = {"idx": idx_seeds, "cifar10": cifar10_seeds, "tar": tar_seeds, "safetensors": safetensors_seeds,
         "config": config_seeds, "picture": picture_seeds, "npz": npz_seeds,
         "packed": packed_seeds, "run": run_seeds}


def write(folder):
    for reader, seeds in SEEDS.items():
        (folder / reader).mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / reader / name).write_bytes(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
