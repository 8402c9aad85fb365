#!/usr/bin/env python3
"""Writes CIFAR-10's binary form from its Python form, which `tandem pack` does not read.

Usage: cifar10_from_python.py cifar-10-batches-py OUTPUT_FOLDER
       then: tandem pack --input OUTPUT_FOLDER --output cifar10.h5

The Python form consists of pickles, and a pickle can run any code. This reads the known structure only: dicts,
lists, numbers, strings, and the uint8 array, for which a stand-in is built; every other name in a pickle ends it.
Needs nothing but Python 3. Exit codes: 2 usage, 65 unexpected content, 66 missing file, 73 output exists.
"""
import os
import pickle
import sys

TRAIN = [f"data_batch_{i}" for i in range(1, 6)]
PIXELS = 3 * 32 * 32


class Array:
    """Takes the place of numpy.ndarray: keeps the bytes that the pickle holds."""

    def __init__(self, *_):
        self.data = b""

    def __setstate__(self, state):
        _version, shape, dtype, fortran_order, data = state
        if fortran_order or getattr(dtype, "code", None) not in ("u1", b"u1", "uint8"):
            raise pickle.UnpicklingError("an array of uint8 in C order was expected")
        self.shape, self.data = tuple(shape), data if isinstance(data, bytes) else data.encode("latin1")


class DType:
    """Takes the place of numpy.dtype."""

    def __init__(self, code, *_):
        self.code = code

    def __setstate__(self, _state):
        pass


ALLOWED = {
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): DType,
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: Array(),
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: Array(),
    ("_codecs", "encode"): lambda text, _encoding: text.encode("latin1"),
}


class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which CIFAR-10 does not need")
        return ALLOWED[module, name]


def load(path):
    """The dict in one file; keys are str."""
    with open(path, "rb") as file:
        content = Unpickler(file, encoding="latin1").load()
    if not isinstance(content, dict):
        raise pickle.UnpicklingError("a dict was expected")
    return {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in content.items()}


def records(path):
    """One file as bytes in the binary form: for each image its label, then its pixels."""
    content = load(path)
    labels, data = content.get("labels"), content.get("data")
    if not isinstance(labels, list) or not isinstance(data, Array):
        raise pickle.UnpicklingError("'data' (array) and 'labels' (list) were expected")
    if data.shape != (len(labels), PIXELS) or len(data.data) != len(labels) * PIXELS:
        raise pickle.UnpicklingError(f"{len(labels)} labels and an array {data.shape}, [n] and [n, {PIXELS}] were expected")
    if not all(isinstance(label, int) and 0 <= label <= 9 for label in labels):
        raise pickle.UnpicklingError("a label is not in 0 to 9")
    return b"".join(bytes([label]) + data.data[i * PIXELS:(i + 1) * PIXELS] for i, label in enumerate(labels))


def class_names(path):
    names = load(path).get("label_names")
    if not isinstance(names, list) or len(names) != 10 or not all(isinstance(name, str) for name in names):
        raise pickle.UnpicklingError("'label_names' with ten names was expected")
    return "\n".join(names + ["", ""]).encode()


def convert(source, target):
    files = {f"{name}.bin": (records, name) for name in TRAIN + ["test_batch"]}
    files["batches.meta.txt"] = (class_names, "batches.meta")
    for output, (read, name) in files.items():
        path = os.path.join(source, name)
        try:
            content = read(path)
        except OSError as error:
            fail(66, f"{path}: {error.strerror}; give the folder cifar-10-batches-py")
        except Exception as error:  # a damaged pickle can raise nearly anything
            fail(65, f"{path}: this is not CIFAR-10's Python form: {error}")
        temporary = os.path.join(target, f".{output}.tmp")
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, os.path.join(target, output))


def fail(code, message):
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(code)


def main():
    if len(sys.argv) != 3:
        fail(2, __doc__.split("\n\n")[1])
    try:
        os.makedirs(sys.argv[2])
    except OSError as error:
        fail(73, f"{sys.argv[2]}: cannot be made: {error.strerror}; name a folder that does not exist yet")
    try:
        convert(sys.argv[1], sys.argv[2])
    except BaseException:
        for name in os.listdir(sys.argv[2]):
            os.unlink(os.path.join(sys.argv[2], name))
        os.rmdir(sys.argv[2])
        raise
    print(f"next: tandem pack --input {sys.argv[2]} --output cifar10.h5")


if __name__ == "__main__":
    main()
