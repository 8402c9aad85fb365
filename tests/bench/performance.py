#!/usr/bin/env python3
"""Measures tandem beside what a user would pick instead, and writes the table of docs/performance.md.

Only ratios of one run count: both sides of a row run directly one after the other, in turn, with two ranks of one thread. Of
each the median is shown, of the ratios the median, the least and the most. Nothing else should run meanwhile.

Usage: performance.py --tandem build/bin/tandem --python PYTHON --peers FOLDER --data FOLDER_WITH_cifar-10-batches-bin
       [--runs 5] [--only NAME,NAME] [--json FILE] [--document FILE]
PEERS holds ddp_cifar10.py and fast_cifar10.py. Rows of two hosts need root and iproute2. In DOCUMENT the table takes the place of
what stands between the two lines of MARKERS.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
MARKERS = ("<!-- begin of what make bench writes -->", "<!-- end of what make bench writes -->")


class Row:
    """`ours` and `theirs` return a number, given which run it is; `faster` says that more of it is better."""

    def __init__(self, name, what, asked, ours, theirs, unit, faster=True, runs=None, rate=None):
        self.name, self.what, self.asked, self.ours, self.theirs, self.unit = name, what, asked, ours, theirs, unit
        self.faster, self.runs, self.rate = faster, runs, rate

    def measure(self, runs):
        ours, theirs = [], []
        for number in range(self.runs or runs):
            ours.append(self.ours(number))
            theirs.append(self.theirs(number) if self.theirs else None)
        found = dict(name=self.name, what=self.what, unit=self.unit, asked=self.asked, ours=ours, theirs=theirs)
        if self.theirs:
            found["ratios"] = [a / b if self.faster else b / a for a, b in zip(ours, theirs)]
        return found


def rows_of(sides, links):
    bf16 = ("--precision", "bf16")
    accuracies = []

    def our_recipe(number):
        summary = sides.our_recipe(number + 1)
        accuracies.append(("tandem", summary["test_accuracy"], summary["test_accuracy_tta"]))
        return summary["train_seconds"]

    def their_recipe(number):
        summary = sides.their_recipe(number + 1)
        accuracies.append(("peer", summary["test_accuracy"], summary["test_accuracy_tta"]))
        return summary["train_seconds"]

    yield Row("simple", "simple, bf16, 64 per rank; DDP tuned", 3.0, lambda _: sides.our_rate("simple", 64, 200, *bf16),
              lambda _: sides.their_rate("simple", 64, 200), "images/s")
    yield Row("resnet9", "resnet9, bf16, 128 per rank; DDP tuned", 1.5, lambda _: sides.our_rate("resnet9", 128, 5, *bf16),
              lambda _: sides.their_rate("resnet9", 128, 5), "images/s")
    yield Row("resnet9-tutorial", "resnet9, bf16, 128 per rank; DDP as tutorials write it", 5.0,
              lambda _: sides.our_rate("resnet9", 128, 5, *bf16),
              lambda _: sides.their_rate("resnet9", 128, 3, "--setting", "seed"), "images/s")
    yield Row("resnet18", "resnet18, bf16, 128 per rank; DDP tuned", 1.5, lambda _: sides.our_rate("resnet18", 128, 4, *bf16),
              lambda _: sides.their_rate("resnet18", 128, 4), "images/s")
    yield Row("two-ranks", "resnet9, bf16, 128 per rank, 2 ranks; 2 runs of 1 rank at a time, each on a core", 0.95,
              lambda _: sides.our_rate("resnet9", 128, 5, *bf16), lambda _: sides.rates_alone("resnet9", 128, 5, *bf16), "images/s")
    yield Row("start", "simple, one step: the whole command; torchrun", 3.5, lambda _: sides.our_start(),
              lambda _: sides.their_start(), "s", faster=False)
    yield Row("memory", "peak memory of the second rank, resnet9, bf16 (proportional set size); PyTorch's", 2.0,
              lambda _: sides.our_memory(), lambda _: sides.their_memory(), "bytes", faster=False)
    yield Row("pack", "pack CIFAR-10 from its folder: at most 1.0 s", 1.0, lambda _: sides.our_packing(sides.folder / "again.h5"), None, "s", faster=False)
    yield Row("evaluation", "evaluation of 10,000 images, resnet18, bf16; PyTorch as tuned", 1.2, lambda _: sides.our_evaluation(),
              lambda _: sides.their_evaluation(), "s", faster=False)
    for rate, asked, more in (("1gbit", 1.3, ()), ("100mbit", 2.0, ("--grad-dtype", "bf16"))):
        with links(rate) as network:
            if network is not None:
                yield Row(f"two-hosts-{rate}", f"resnet9, bf16, 32 per rank, two hosts at {rate}{' with ' if more else ''}"
                          f"{' '.join(more)}; DDP tuned", asked, lambda _: sides.our_rate_on(network, *more),
                          lambda _: sides.their_rate_on(network), "images/s")
    row = Row("cifar10-fast", "the recipe cifar10-fast, seconds of steps; fast_cifar10.py with its malloc settings", 1.4, our_recipe,
              their_recipe, "s", faster=False, runs=3)
    yield row
    for side in ("tandem", "peer"):
        found = [each[1:] for each in accuracies if each[0] == side]
        if found:
            plain, views = (statistics.mean(values) for values in zip(*found))
            print(f"cifar10-fast: {side} answers {plain:.4f} right, {views:.4f} with test-time augmentation (mean of {len(found)} seeds)")


def shown(values, unit):
    value = statistics.median(values)
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def line_of(found):
    asked = f"≥ {found['asked']:g}" if "ratios" in found else f"≤ {found['asked']:g} {found['unit']}"
    if "ratios" not in found:
        return f"| {found['what']} | {shown(found['ours'], found['unit'])} | - | - | {asked} |"
    ratios = found["ratios"]
    return (f"| {found['what']} | {shown(found['ours'], found['unit'])} | {shown(found['theirs'], found['unit'])} | "
            f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f}) | {asked} |")


def heading(options):
    model = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    torch = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    version = subprocess.run([options.tandem, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return (f"{datetime.date.today().isoformat()}, {len(model)} x {model[0]} ({platform.machine()}); {version}; PyTorch "
            f"{torch.stdout.strip()}\n\n| work; beside | tandem | beside | times as good (least to most) | asked |\n|---|---|---|---|---|")


def link_maker(options, folder):
    @contextlib.contextmanager
    def links(rate):
        if options.only and f"two-hosts-{rate}" not in options.only:
            yield None
            return
        from network import Network  # pylint: disable=import-outside-toplevel
        with Network(2, rate, pathlib.Path(folder)) as network:
            yield network
    return links


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "python", "peers", "data"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of rows")
    parser.add_argument("--json")
    parser.add_argument("--document")
    options = parser.parse_args()
    for name in ("tandem", "peers", "data"):
        setattr(options, name, str(pathlib.Path(getattr(options, name)).resolve()))
    options.python = str(pathlib.Path(options.python).absolute())  # a link, beside which its programs are
    os.environ.update(ENVIRONMENT)
    os.environ.update(TANDEM_TEST_PROGRAM=options.tandem, TANDEM_TEST_MPIRUN="mpirun", TANDEM_TEST_DATA=options.tandem,
                      TANDEM_TEST_UNSHARE="unshare --mount --uts")
    sys.path.insert(0, str(SUPPORT))
    if not options.only or any(name.startswith("two-hosts") for name in options.only):
        from network import enter_namespaces  # pylint: disable=import-outside-toplevel
        enter_namespaces()
    from sides import Sides  # pylint: disable=import-outside-toplevel
    found, lines = [], [heading(options)]
    print(lines[0], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(options, folder)
        for row in rows_of(sides, link_maker(options, folder)):
            if options.only and row.name not in options.only:
                continue
            found.append(row.measure(options.runs))
            lines.append(line_of(found[-1]))
            print(lines[-1], flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    if options.document:
        document = pathlib.Path(options.document)
        before, rest = document.read_text().split(MARKERS[0])
        after = rest.split(MARKERS[1])[1]
        document.write_text(before + MARKERS[0] + "\n" + "\n".join(lines) + "\n" + MARKERS[1] + after)


if __name__ == "__main__":
    main()
