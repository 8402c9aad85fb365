#!/usr/bin/env python3
"""Tests data/cifar10_from_python.py on pickles made here: check_cifar10_from_python.py. Needs numpy to make them."""
import os
import pickle
import subprocess
import sys
import tempfile

import numpy as np

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/cifar10_from_python.py")
NAMES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        # The published files come from Python 2, whose protocol 2 gives byte strings for keys.
        pickle.dump(content, file, protocol=2)


def make_python_form(folder, images=6):
    os.makedirs(folder)
    random = np.random.default_rng(0)
    batches = {}
    for name in NAMES:
        labels = random.integers(0, 10, images).tolist()
        data = random.integers(0, 256, (images, 3072), dtype=np.uint8)
        write(folder, name, {b"batch_label": name, b"labels": labels, b"data": data, b"filenames": ["x.png"] * images})
        batches[name] = np.concatenate([np.array(labels, np.uint8)[:, None], data], 1).tobytes()
    write(folder, "batches.meta", {"num_cases_per_batch": images, "label_names": CLASSES, "num_vis": 3072})
    return batches


def run(source, target):
    return subprocess.run([sys.executable, SCRIPT, source, target], capture_output=True, text=True)


def expect_refused(source, target, code, part):
    result = run(source, target)
    assert result.returncode == code and part in result.stderr, result
    assert not os.path.exists(target), "something was left behind"


class Hostile:
    def __reduce__(self):
        return os.system, ("touch pwned",)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        batches = make_python_form("py")
        result = run("py", "bin")
        assert result.returncode == 0, result
        for name in NAMES:
            with open(f"bin/{name}.bin", "rb") as file:
                assert file.read() == batches[name], name
        with open("bin/batches.meta.txt", encoding="ascii") as file:
            assert file.read().split() == CLASSES
        assert run("py", "bin").returncode == 73
        expect_refused("absent", "out", 66, "data_batch_1")

        faults = {
            "posix.system": Hostile(),
            "a dict": ["labels"],
            "'labels' (list)": {"data": 1},
            "not in 0 to 9": {"labels": [10], "data": np.zeros((1, 3072), np.uint8)},
            "2 labels": {"labels": [1, 2], "data": np.zeros((1, 3072), np.uint8)},
            "uint8": {"labels": [1], "data": np.zeros((1, 3072), np.float32)},
        }
        for part, content in faults.items():
            write("py", "data_batch_4", content)
            expect_refused("py", "out", 65, part)
        assert not os.path.exists("pwned"), "a pickle ran a command"
        with open("py/data_batch_4", "wb") as file:
            file.write(b"<html>")
        expect_refused("py", "out", 65, "data_batch_4")
    print("ok")


if __name__ == "__main__":
    main()
