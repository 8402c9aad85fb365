#!/usr/bin/env python3
"""Writes tandem's packed form (docs/formats.md) from arrays, for what `tandem pack` does not read. Needs numpy and h5py.

As a program, from four .npy files, which may be larger than the memory:

    write_dataset.py OUTPUT.h5 --train IMAGES.npy LABELS.npy --test IMAGES.npy LABELS.npy [--classes FILE] [--name NAME]

As a module, from anything that has a length and can be sliced:

    write_dataset("own.h5", "own", ["cat", "dog"], train=(images, labels), test=(images, labels))

Images are uint8 [N, H, W], [N, C, H, W] or [N, H, W, C] with 1 or 3 channels; labels are indexes into the classes. Then
`tandem verify --seal OUTPUT.h5` checks the file and adds the block that proves it undamaged from then on.
Exit codes: 2 usage, 65 arrays that do not fit, 66 missing file, 73 output that cannot be made, 74 failed reading or writing,
143 ended by SIGTERM. In every case but success nothing is left behind.
"""
import argparse
import errno
import hashlib
import os
import signal
import sys

import h5py
import numpy

MOST_CHUNK_IMAGES, MOST_CHUNK_BYTES, CHUNK_LABELS = 250, 1 << 20, 10000
# What tandem verify holds a file to.
MOST_IMAGES, MOST_PIXELS, MOST_CLASSES, MOST_NAME_BYTES = 10_000_000, 1_000_000, 1000, 100


def channels_first(images):
    """A view of a slice as [N, C, H, W]."""
    images = numpy.asarray(images)
    if images.dtype != numpy.uint8:
        raise ValueError(f"images are {images.dtype}, uint8 (0 to 255) was expected")
    if images.ndim == 3:
        return images[:, None]
    if images.ndim == 4 and images.shape[3] in (1, 3):
        return images.transpose(0, 3, 1, 2)
    if images.ndim == 4 and images.shape[1] in (1, 3):
        return images
    raise ValueError(f"images are of shape {images.shape}, [N, H, W], [N, H, W, C] or [N, C, H, W] with 1 or 3 channels "
                     "was expected")


def checked_labels(labels, count, classes):
    labels = numpy.asarray(labels).reshape(-1)
    if len(labels) != count or count == 0:
        raise ValueError(f"there are {count} images and {len(labels)} labels, as many of each and at least one was expected")
    if labels.dtype.kind not in "ui" or labels.min() < 0 or labels.max() >= min(classes, 256):
        raise ValueError(f"labels are {labels.dtype} from {labels.min()} to {labels.max()}, whole numbers from 0 to "
                         f"{min(classes, 256) - 1} were expected")
    return labels.astype(numpy.uint8)


def check_name(name, what):
    """1 to 100 bytes of UTF-8 without control characters."""
    if not isinstance(name, str):
        raise ValueError(f"{what} is {name!r}, a text was expected")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 1 <= size <= MOST_NAME_BYTES or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        raise ValueError(f"{what} is {name!r}, 1 to {MOST_NAME_BYTES} bytes of UTF-8 without control characters were expected")


def check_before_writing(name, classes, train, test):
    """Whatever is seen without reading the images."""
    check_name(name, "the name")
    if "/" in name or name.startswith("."):
        raise ValueError(f"the name is {name!r}, one without '/' and leading '.' was expected")
    if isinstance(classes, str) or not 1 <= len(classes) <= MOST_CLASSES:
        raise ValueError(f"1 to {MOST_CLASSES} names of classes in a list were expected")
    for place, each in enumerate(classes):
        check_name(each, f"class {place}")
    shapes = []
    for images, labels in (train, test):
        if getattr(images, "shape", None) == () or numpy.ndim(labels) == 0:
            raise ValueError("found a single value, arrays of images and of labels were expected")
        if not 1 <= len(images) <= MOST_IMAGES:
            raise ValueError(f"there are {len(images)} images, 1 to {MOST_IMAGES} were expected")
        checked_labels(labels, len(images), len(classes))
        shapes.append(channels_first(images[:1]).shape[1:])
        if not 1 <= numpy.prod(shapes[-1], dtype=object) <= MOST_PIXELS:
            raise ValueError(f"images are of shape {shapes[-1]}, 1 to {MOST_PIXELS} values each were expected")
    if shapes[0] != shapes[1]:
        raise ValueError(f"images for training are of shape {shapes[0]}, those for testing of {shapes[1]}")


def write_split(group, images, labels, classes, digest):
    """Writes in blocks of a chunk. Returns how often each channel has each of the 256 values."""
    labels = checked_labels(labels, len(images), classes)
    shape = channels_first(images[:1]).shape[1:]
    block = max(1, min(MOST_CHUNK_IMAGES, MOST_CHUNK_BYTES // int(numpy.prod(shape)), len(images)))
    # A file of a newer HDF5 with other filters than these would be refused.
    stored = group.create_dataset("images", (len(images), *shape), numpy.uint8, chunks=(block, *shape), fletcher32=True)
    counts = numpy.zeros((shape[0], 256), numpy.int64)
    for first in range(0, len(images), block):
        part = numpy.ascontiguousarray(channels_first(images[first:first + block]))
        stored[first:first + len(part)] = part
        digest.update(part.data)
        for channel in range(shape[0]):
            counts[channel] += numpy.bincount(part[:, channel].reshape(-1), minlength=256)
    group.create_dataset("labels", data=labels, chunks=(min(CHUNK_LABELS, len(labels)),), fletcher32=True)
    digest.update(labels.data)
    return counts


def write_dataset(path, name, classes, train, test):
    """The file appears under its name only when it is complete."""
    check_before_writing(name, classes, train, test)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "is a folder, the name of a file was expected", path)
    temporary = f"{path}.tmp.{os.getpid()}"
    try:
        with h5py.File(temporary, "w", libver=("earliest", "v110")) as file:
            digest = hashlib.sha256()
            counts = write_split(file.create_group("train"), *train, len(classes), digest)
            write_split(file.create_group("test"), *test, len(classes), digest)
            values = numpy.arange(256) / 255
            mean = (counts * values).sum(axis=1) / counts.sum(axis=1)
            std = numpy.sqrt((counts * (values - mean[:, None]) ** 2).sum(axis=1) / counts.sum(axis=1))
            if std.min() < 1e-6:
                raise ValueError("a channel has the same value in all training images")
            file.attrs["format"] = "tandem-dataset"
            file.attrs["version"] = 1
            file.attrs["name"] = name
            file.attrs["classes"] = list(classes)
            file.attrs["mean"] = mean
            file.attrs["std"] = std
            file.attrs["source_sha256"] = digest.hexdigest()
            file.attrs["complete"] = 1  # last: a file without it was not finished
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def fail(code, message):
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(code)


def most_label(*splits):
    """At most what is allowed: which label is wrong is told later."""
    labels = [numpy.asarray(labels) for _, labels in splits]
    most = [int(each.max()) for each in labels if each.size and each.dtype.kind in "ui"]
    return min(max([0, *most]), MOST_CLASSES - 1)


def load(path):
    try:
        array = numpy.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: is no array in numpy's .npy form: {error}") from error
    if not isinstance(array, numpy.ndarray):
        raise ValueError(f"{path}: is an archive of arrays, one .npy file was expected; tandem pack takes .npz files")
    return array


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the temporary file goes
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--train", nargs=2, metavar=("IMAGES.npy", "LABELS.npy"), required=True)
    parser.add_argument("--test", nargs=2, metavar=("IMAGES.npy", "LABELS.npy"), required=True)
    parser.add_argument("--classes", help="a file of their names, one a line; without it they are numbers")
    parser.add_argument("--name", help="of the data set; without it that of the output")
    arguments = parser.parse_args()
    try:
        train, test = ([load(path) for path in paths] for paths in (arguments.train, arguments.test))
        if arguments.classes:
            with open(arguments.classes, encoding="utf-8") as file:
                classes = file.read().split("\n")
            while classes and not classes[-1]:
                classes.pop()
        else:
            classes = [str(i) for i in range(1 + most_label(train, test))]
        name = arguments.name or os.path.splitext(os.path.basename(arguments.output))[0]
        try:
            write_dataset(arguments.output, name, classes, train, test)
        except OSError as error:
            cannot_create = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS)
            fail(73 if cannot_create else 74, f"{arguments.output}: {error.strerror or error}")
    except FileNotFoundError as error:
        fail(66, f"{error.filename}: is not there")
    except OSError as error:
        fail(74, f"{error.filename}: {error.strerror or error}")
    except (TypeError, ValueError) as error:
        fail(65, error)
    print(f"next: tandem verify --seal {arguments.output}")


if __name__ == "__main__":
    main()
