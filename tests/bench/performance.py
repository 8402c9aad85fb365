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
LINK_ROWS = {"two-hosts-1gbit": ("1gbit", 1.3, ()), "two-hosts-100mbit": ("100mbit", 2.0, ("--grad-dtype", "bf16"))}
RECIPE_ACCURACIES = (0.892, 0.904)  # plain and with test-time augmentation, on the JPEG copies of CIFAR-10
MARKERS = ("<!-- begin of what make bench writes -->", "<!-- end of what make bench writes -->")


class Row:
    """`ours` and `theirs` return a number, given which run it is; `faster` says that more of it is better; `remark` returns what
    else there is to say of it."""

    def __init__(self, name, what, asked, ours, theirs, unit, faster=True, runs=None, remark=None):
        self.name, self.what, self.asked, self.ours, self.theirs, self.unit = name, what, asked, ours, theirs, unit
        self.faster, self.runs, self.remark = faster, runs, remark

    def measure(self, runs, commands):
        """In turn, each side first in every other pair."""
        values = {self.ours: [], self.theirs: []}
        said = {}
        for number in range(self.runs or runs):
            for side in (self.ours, self.theirs) if number % 2 == 0 else (self.theirs, self.ours):
                if side:
                    values[side].append(side(number))
                    said.setdefault(side, commands[-1])
        found = dict(name=self.name, what=self.what, unit=self.unit, asked=self.asked, ours=values[self.ours], our_command=said[self.ours])
        if self.theirs:
            found.update(theirs=values[self.theirs], their_command=said[self.theirs])
            found["ratios"] = [a / b if self.faster else b / a for a, b in zip(found["ours"], found["theirs"])]
        if self.remark:
            found["remark"] = self.remark()
        return found


class LinkRow:
    """A row of two hosts, measured by a program that has namespaces of its own."""

    def __init__(self, name, options):
        self.name, self.options = name, options

    def measure(self, runs, _):
        with tempfile.NamedTemporaryFile() as file:
            words = [f"--{name}={getattr(self.options, name)}" for name in ("tandem", "python", "peers", "data")]
            subprocess.run([sys.executable, "-B", __file__, *words, f"--runs={runs}", f"--only={self.name}", f"--json={file.name}"],
                           stdout=subprocess.DEVNULL, check=True)
            return json.loads(pathlib.Path(file.name).read_text())["rows"][0]


def rows_of(sides):
    from sides import MALLOC  # pylint: disable=import-outside-toplevel
    bf16 = ("--precision", "bf16")
    accuracies = {"tandem": [], "the peer": []}

    def our_recipe(number):
        summary = sides.our_recipe(number + 1)
        accuracies["tandem"].append((summary["test_accuracy"], summary["test_accuracy_tta"]))
        return summary["train_seconds"]

    def their_recipe(number):
        summary = sides.their_recipe(number + 1)
        accuracies["the peer"].append((summary["test_accuracy"], summary["test_accuracy_tta"]))
        return summary["train_seconds"]

    def recipe_accuracies():
        means = {side: tuple(statistics.mean(values) for values in zip(*found)) for side, found in accuracies.items()}
        text = "; ".join(f"{side} answers {plain:.4f} right, {views:.4f} with test-time augmentation" for side, (plain, views) in means.items())
        reached = all(found >= least for found, least in zip(means["tandem"], RECIPE_ACCURACIES))
        return text if reached else f"{text}: less than {RECIPE_ACCURACIES}"

    yield Row("simple", "simple, bf16, 64 per rank; DDP tuned", 3.0, lambda _: sides.our_rate("simple", 64, 1000, *bf16),
              lambda _: sides.their_rate("simple", 64, 1000), "images/s")
    def resnet9(_):
        return sides.our_rate("resnet9", 128, 10, *bf16)

    yield Row("resnet9", "resnet9, bf16, 128 per rank; DDP tuned", 1.5, resnet9, lambda _: sides.their_rate("resnet9", 128, 10), "images/s")
    yield Row("resnet9-malloc", "the same; DDP tuned, and malloc set to keep large blocks", None, resnet9,
              lambda _: sides.their_rate("resnet9", 128, 10, environment=MALLOC), "images/s")
    yield Row("resnet9-tutorial", "resnet9, bf16, 128 per rank; DDP as tutorials write it, fp32", 5.0, resnet9,
              lambda _: sides.their_rate("resnet9", 128, 5, "--setting", "seed"), "images/s")
    yield Row("resnet18", "resnet18, bf16, 128 per rank; DDP tuned", 1.5, lambda _: sides.our_rate("resnet18", 128, 6, *bf16),
              lambda _: sides.their_rate("resnet18", 128, 6), "images/s")
    yield Row("two-ranks", "resnet9, bf16, 128 per rank, 2 ranks; 2 runs of 1 rank at a time, each on a core", 0.95,
              resnet9, lambda _: sides.rates_alone("resnet9", 128, 10, *bf16), "images/s")
    yield Row("start", "simple, one step: the whole command; torchrun", 3.5, lambda _: sides.our_start(),
              lambda _: sides.their_start(), "s", faster=False)
    yield Row("memory", "peak memory of the second rank, resnet9, bf16 (proportional set size); PyTorch's", 2.0,
              lambda _: sides.our_memory(), lambda _: sides.their_memory(), "bytes", faster=False)
    yield Row("pack", "pack CIFAR-10 from its folder: at most 1.0 s", 1.0, lambda _: sides.our_packing(sides.folder / "again.h5"), None, "s", faster=False)
    yield Row("evaluation", "evaluation of 10,000 images, resnet18, bf16; PyTorch as tuned", 1.2, lambda _: sides.our_evaluation(),
              lambda _: sides.their_evaluation(), "s", faster=False)
    yield Row("cifar10-fast", "the recipe cifar10-fast, seconds of steps; fast_cifar10.py with its malloc settings", 1.4, our_recipe,
              their_recipe, "s", faster=False, runs=3, remark=recipe_accuracies)


def link_rows_of(sides, only, folder):
    from network import Network  # pylint: disable=import-outside-toplevel
    for name, (rate, asked, more) in LINK_ROWS.items():
        if name in only:
            with Network(2, rate, pathlib.Path(folder)) as network:
                yield Row(name, f"resnet9, bf16, 32 per rank, two hosts at {rate}, gradients in {'bfloat16' if more else 'fp32'}; "
                          "DDP tuned, gradients in fp32", asked, lambda _: sides.our_rate_on(network, *more),
                          lambda _: sides.their_rate_on(network), "images/s")


def shown(values, unit):
    value = statistics.median(values)
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def line_of(found):
    if found["asked"] is None:
        asked = "-"
    else:
        asked = f"≥ {found['asked']:g}" if "ratios" in found else f"≤ {found['asked']:g} {found['unit']}"
    if "ratios" not in found:
        return f"| {found['what']} | {shown(found['ours'], found['unit'])} | - | {len(found['ours'])} | {asked} |"
    ratios = found["ratios"]
    what = f"{found['what']} ({found['remark']})" if "remark" in found else found["what"]
    return (f"| {what} | {shown(found['ours'], found['unit'])} | {shown(found['theirs'], found['unit'])} | "
            f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f}; {len(ratios)}) | {asked} |")


def commands_of(found):
    lines = [f"# {found['name']}", found["our_command"], *([found["their_command"]] if "their_command" in found else [])]
    return "\n".join(lines)


def machine_of(options):
    model = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    torch = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    version = subprocess.run([options.tandem, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return dict(date=datetime.date.today().isoformat(), processors=f"{len(model)} x {model[0]} ({platform.machine()})", tandem=version,
                pytorch=torch.stdout.strip())


def heading(machine):
    return (f"{machine['date']}, {machine['processors']}; {machine['tandem']}; PyTorch {machine['pytorch']}\n\n"
            "| work; beside | tandem | beside | times as good (least to most; runs) | asked |\n|---|---|---|---|---|")


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
    only = options.only or []
    has_link = bool(only) and all(name in LINK_ROWS for name in only)
    if has_link:
        from network import enter_namespaces  # pylint: disable=import-outside-toplevel
        enter_namespaces()
    from sides import Sides  # pylint: disable=import-outside-toplevel
    machine = machine_of(options)
    found, lines = [], [heading(machine)]
    print(lines[0], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(options, folder)
        rows = list(rows_of(sides)) + [LinkRow(name, options) for name in LINK_ROWS]
        names = [row.name for row in rows]
        if unknown := set(only) - set(names):
            parser.error(f"--only {','.join(sorted(unknown))}: rows are {', '.join(names)}")
        for row in link_rows_of(sides, only, folder) if has_link else rows:
            if only and row.name not in only:
                continue
            found.append(row.measure(options.runs, sides.commands))
            lines.append(line_of(found[-1]))
            print(lines[-1], flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps({**machine, "rows": found}, indent=1) + "\n")
    lines.append("\n```text\n" + "\n".join(commands_of(each) for each in found) + "\n```")
    if options.document:
        document = pathlib.Path(options.document)
        before, rest = document.read_text().split(MARKERS[0])
        after = rest.split(MARKERS[1])[1]
        document.write_text(before + MARKERS[0] + "\n" + "\n".join(lines) + "\n" + MARKERS[1] + after)


if __name__ == "__main__":
    main()
