#!/usr/bin/env python3
"""Measures training steps of tandem and of PyTorch DDP in turn on one machine, and prints the ratios.

Only ratios of one run count: every pair runs directly one after the other, with 2 ranks of 1 thread,
128 images per rank and step, and the first five steps left out on both sides.

Usage: compare_with_peers.py --tandem build/bin/tandem --python PYTHON --peer ddp_cifar10.py
       --folder DIR_WITH_cifar-10-batches-bin --packed cifar10.h5 [--runs 5] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

# model, precision, timed steps, the least ratio that is asked for
WORK = [
    ("simple", "bf16", 100, 1.5),
    ("simple", "fp32", 100, None),
    ("resnet9", "bf16", 5, 1.0),
    ("resnet18", "bf16", 5, 1.0),
]
IMAGES_PER_RANK = 128
WARM_UP = 5


def environment():
    return dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def last_json(command):
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def tandem(options, model, precision, steps):
    with tempfile.TemporaryDirectory() as folder:
        command = ["mpirun", "-np", "2", options.tandem, "train", "--data", options.packed, "--model", model,
                   "--precision", precision, "--batch-size", str(IMAGES_PER_RANK), "--augment", "standard",
                   "--nesterov", "--weight-decay", "5e-4", "--lr", "0.1", "--max-steps", str(steps + WARM_UP),
                   "--eval-every", "0", "--runs-dir", folder, "--quiet", "--json"]
        return last_json(command + options.tandem_options.split())["images_per_second"]


def peer(options, model, precision, steps):
    torchrun = str(pathlib.Path(options.python).parent / "torchrun")
    command = [torchrun, "--nproc-per-node", "2", options.peer, "--data", options.folder, "--model", model,
               "--setting", "tuned", "--steps", str(steps), "--batch", str(IMAGES_PER_RANK)]
    return last_json(command + (["--fp32"] if precision == "fp32" else []))["images_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "python", "peer", "folder", "packed"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--tandem-options", default="", help="added to every tandem train")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="model, or model:precision")
    parser.add_argument("--json")
    options = parser.parse_args()
    table = []
    print(f"{'model':10} {'precision':9} {'tandem':>10} {'DDP tuned':>10} {'ratio':>6} {'min':>6} {'max':>6}  asked")
    for model, precision, steps, asked in WORK:
        if options.only and options.only not in (model, f"{model}:{precision}"):
            continue
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(tandem(options, model, precision, steps))
            theirs.append(peer(options, model, precision, steps))
        ratios = [a / b for a, b in zip(ours, theirs)]
        row = dict(model=model, precision=precision, tandem=ours, peer=theirs, ratio=statistics.median(ratios),
                   lowest=min(ratios), highest=max(ratios), asked=asked)
        table.append(row)
        print(f"{model:10} {precision:9} {statistics.median(ours):10.1f} {statistics.median(theirs):10.1f} "
              f"{row['ratio']:6.2f} {row['lowest']:6.2f} {row['highest']:6.2f}  "
              f"{'' if asked is None else asked}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
