#!/usr/bin/env python3
"""Measures how much test accuracy fine-tuning gains. One network is trained on the first five classes of CIFAR-10 and then
fine-tuned on the other five. Another is trained on those five from random weights, with equal steps and options. Repeats
both for several seeds and prints a Markdown table.

Usage: fine_tuning.py --tandem build/bin/tandem --data cifar-10-batches-bin [--ranks 2] [--model resnet9] [--lr 0.05]
                      [--epochs 6] [--steps 150] [--seeds 3] [--only prepare]
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile
import zipfile

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
RECORD, CLASSES = 3073, 5
ASKED = 2.0  # percentage points


def npy(shape, content):
    """A .npy file of uint8 (numpy/lib/format.py, version 1.0)."""
    header = repr({"descr": "|u1", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def pack_half(options, folder, first):
    """Packs the classes first … first + 4, with labels from 0. Returns the path."""
    archive = folder / f"classes-{first}.npz"
    with zipfile.ZipFile(archive, "w") as members:
        for split, names in (("train", [f"data_batch_{i}.bin" for i in range(1, 6)]), ("test", ["test_batch.bin"])):
            records = b"".join((options.data / name).read_bytes() for name in names)
            chosen = [at for at in range(0, len(records), RECORD) if first <= records[at] < first + CLASSES]
            members.writestr(f"{split}_images.npy", npy((len(chosen), 3, 32, 32), b"".join(records[at + 1:at + RECORD] for at in chosen)))
            members.writestr(f"{split}_labels.npy", npy((len(chosen),), bytes(records[at] - first for at in chosen)))
    packed = archive.with_suffix(".h5")
    run([options.tandem, "pack", "--input", archive, "--output", packed])
    return packed


def run(command):
    done = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def train(options, folder, data, run_id, *more):
    """The test accuracy, in percent."""
    said = run(["mpirun", "-np", options.ranks, "--bind-to", "none", options.tandem, "train", "--data", data, "--model", options.model,
                "--global-batch-size", 128, "--augment", "standard", "--optimizer", "sgd", "--nesterov", "--weight-decay", "5e-4",
                "--lr", options.lr, "--schedule", "linear", "--warmup-epochs", 0.2, "--eval-every", 1000, "--checkpoint-every", 0,
                "--runs-dir", folder / "runs", "--run-id", run_id, "--quiet", "--json", *more])
    return 100 * json.loads(said.splitlines()[-1])["test_accuracy"]


def measure(options, folder):
    halves = [pack_half(options, folder, first) for first in (0, CLASSES)]
    if options.only == "prepare":
        return
    before = train(options, folder, halves[0], "pretrained", "--epochs", options.epochs)
    print(f"pretrained for {options.epochs} epochs on classes 0 to 4: {before:.2f} %\n")
    print(f"| seed | from random weights, {options.steps} steps, % | fine-tuned, % | gain, points |\n|---|---|---|---|")
    gains = []
    for seed in range(1, options.seeds + 1):
        # The schedule ends with the last step of both.
        length = ["--seed", seed, "--epochs", options.steps * 128 / 25000]
        plain = train(options, folder, halves[1], f"plain-{seed}", *length)
        tuned = train(options, folder, halves[1], f"tuned-{seed}", *length, "--init-from", folder / "runs/pretrained")
        gains.append(tuned - plain)
        print(f"| {seed} | {plain:.2f} | {tuned:.2f} | {gains[-1]:.2f} |", flush=True)
    print(f"\nmean gain {statistics.mean(gains):.2f} points, asked: at least {ASKED}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tandem", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", default="resnet9")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["prepare"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
