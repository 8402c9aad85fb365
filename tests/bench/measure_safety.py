#!/usr/bin/env python3
"""Measures what exactness and supervision cost, and how soon a stopped run is durable.

Only ratios of one run count: each pair of runs is started directly one after the other, in turn in either order, with one
thread a rank. Prints a Markdown table.

Usage: measure_safety.py --tandem build/bin/tandem --data synthetic.h5 [--runs 5] [--only NAME]
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
# The defaults, said so that both sides have as many words: their number moves the stack, which may change the speed.
SUPERVISED = ["--stall-warn", "60", "--stall-abort", "600"]
UNSUPERVISED = ["--stall-warn", "0", "--stall-abort", "0"]
# Every rank's lines and samples, about once a second, beside none at all.
METRICS = ["--system-interval", "1", "--log-every"]
NO_METRICS = ["--system-interval", "0", "--log-every", "0"]
# name, ranks, network, images per rank, steps, options of one side, of the other, the least ratio that is asked for, and how
# many pairs for each of --runs: many short ones, in turn, where a cost is sought that is smaller than the difference between runs.
PAIRS = [
    ("--virtual-ranks 2, 2 ranks, simple", 2, "simple", 128, 150, ["--virtual-ranks", "2"], [], 1 / 1.10, 1),
    ("--virtual-ranks 2, 2 ranks, resnet9", 2, "resnet9", 32, 12, ["--virtual-ranks", "2"], [], 1 / 1.10, 1),
    ("--virtual-ranks 4, 4 ranks, simple", 4, "simple", 128, 80, ["--virtual-ranks", "4"], [], 1 / 1.10, 1),
    ("--virtual-ranks 4, 4 ranks, resnet9", 4, "resnet9", 32, 12, ["--virtual-ranks", "4"], [], 1 / 1.10, 1),
    ("watchdog, 2 ranks, simple", 2, "simple", 128, 80, SUPERVISED, UNSUPERVISED, 0.99, 8),
    ("watchdog, 2 ranks, lenet, batch 16", 2, "lenet", 16, 1000, SUPERVISED, UNSUPERVISED, 0.99, 8),
    ("metrics, 2 ranks, simple", 2, "simple", 128, 120, [*METRICS, "10"], NO_METRICS, 0.99, 4),
    ("metrics, 2 ranks, lenet, batch 16", 2, "lenet", 16, 3000, [*METRICS, "300"], NO_METRICS, 0.99, 4),
]


def command_of(options, folder, ranks, network, batch, more):
    return ["mpirun", "-np", str(ranks), options.tandem, "train", "--data", options.data, "--model", network, "--batch-size",
            str(batch), "--epochs", "1000000", "--eval-every", "0", "--threads", "1", "--runs-dir", folder, "--run-id", "a",
            "--quiet", "--json", *more]


def images_per_second(options, ranks, network, batch, steps, more):
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(options, folder, ranks, network, batch, ["--max-steps", str(steps), "--checkpoint-every", "0", *more])
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        wall = time.time()
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
        summary = json.loads(done.stdout.strip().splitlines()[-1])
        if "--system-interval" not in more:
            return summary["images_per_second"]
        # What is written between steps is no part of theirs, so this is by the clock.
        manifest = json.loads(pathlib.Path(folder, "a/manifest.json").read_text())
        return summary["images_seen"] / (wall - manifest["segments"][-1]["started"])


def seconds_until_durable(options):
    """From the end of the step after which the ranks agree to stop, until the checkpoint has been synced and read back.

    `step` lines are written directly before that agreement, `latest` directly after the last of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(options, folder, 2, "resnet18", 8, ["--log-every", "1", "--checkpoint-every", "0", "--momentum", "0.9"])
        job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run = pathlib.Path(folder, "a")
        while job.poll() is None and not ((run / "metrics.jsonl").exists() and '"step":3,' in (run / "metrics.jsonl").read_text()):
            time.sleep(0.01)
        job.send_signal(signal.SIGUSR1)
        _, errors = job.communicate()
        if job.returncode != 75:
            raise SystemExit(f"ended with {job.returncode}\n{errors.decode()}")
        steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        last = max(line["time"] for line in steps if line["event"] == "step")
        return (run / "checkpoints/latest").stat().st_mtime - last


def watchdog_share(options):
    """Of the processor time of all threads of both ranks, that of their watchdogs."""
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.Popen(command_of(options, folder, 2, "lenet", 16, ["--checkpoint-every", "0"]), env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(10)
        total, watching = 0, 0
        for task in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
            try:
                session = int((task / "stat").read_text().rpartition(")")[2].split()[3])
                name, nanoseconds = (task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0])
            except OSError:  # it has ended since
                continue
            if session == job.pid and name in ("tandem", "watchdog", "loader"):
                total += nanoseconds
                watching += nanoseconds if name == "watchdog" else 0
        job.send_signal(signal.SIGUSR1)
        job.communicate()
        if watching == 0:
            raise SystemExit("no thread called watchdog was found")
        return watching / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "data"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args()
    options.data = str(pathlib.Path(options.data).resolve())
    print("| measurement | required | median | min | max |\n|---|---|---|---|---|")
    for name, ranks, network, batch, steps, one, other, asked, pairs in PAIRS:
        if options.only not in name:
            continue
        ratios = []
        for run in range(options.runs * pairs):
            sides = [lambda: images_per_second(options, ranks, network, batch, steps, one),
                     lambda: images_per_second(options, ranks, network, batch, steps, other)]
            first = run % 2
            speeds = {first: sides[first](), 1 - first: sides[1 - first]()}
            ratios.append(speeds[0] / speeds[1])
        print(f"| {name}: images/s with it / without | >= {asked:.2f} | {statistics.median(ratios):.3f} | {min(ratios):.3f} | "
              f"{max(ratios):.3f} |", flush=True)
    if options.only in "watchdog share":
        shares = [100 * watchdog_share(options) for _ in range(options.runs)]
        print(f"| watchdog, 2 ranks, lenet, batch 16: processor time of its threads, % | | {statistics.median(shares):.3f} | "
              f"{min(shares):.3f} | {max(shares):.3f} |", flush=True)
    if options.only in "durable":
        seconds = [seconds_until_durable(options) for _ in range(options.runs)]
        print(f"| resnet18, 2 ranks: durable after the last step, s | <= 0.8 | {statistics.median(seconds):.2f} | "
              f"{min(seconds):.2f} | {max(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    main()
