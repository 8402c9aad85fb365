#!/usr/bin/env python3
"""Measures how near `tandem train --plan` comes, and prints the tables of docs/scaling.md.

For each number of ranks on this host, and with --links on hosts made of network namespaces (needs root and iproute2): the
images/s of the plan made there, those of the plan made by ranks of this host alone (--hosts), and those of real runs. Then plans
for hosts that this machine has not. The plans and the runs follow each other directly, one thread a rank. No rank shares a core.

Usage: scaling.py --tandem build/bin/tandem --data cifar10.h5 [--model resnet9] [--batch-size 32] [--runs 3] [--links]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
PLACES = [(hosts, ranks) for hosts, ranks in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)) if hosts * ranks <= os.cpu_count()]
# The rate of a host's link as tc reads it, and --link: a short message of TCP waits behind about 0.5 MB that are queued. The last
# link has no limit but the processors.
LINKS = {"100mbit": "100mbit,40ms", "1gbit": "1gbit,4ms", "unlimited": "100gbit"}
# name of a column, and what it adds to the command line
WAYS = (("fp32", []), ("bf16", ["--grad-dtype", "bf16"]))
ELSEWHERE = ((4, 8), (16, 32), (64, 64))
SECONDS = 8  # of a run, about, by the plan's word
FEWEST_STEPS = 15  # of which the first five do not count
ASKED = 0.15


def last_json(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}\nended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


class Place:
    """Hosts with `ranks` each, the words that start a job there, its data, and --link."""

    def __init__(self, hosts, ranks, mpirun, data, link=None, name=""):
        self.hosts, self.ranks, self.mpirun, self.data, self.link = hosts, ranks, mpirun, data, link
        self.name = name or f"{hosts} x {ranks}"


def train(options, mpirun, data, *more):
    return last_json([*mpirun, options.tandem, "train", "--data", data, "--model", options.model, "--precision", options.precision,
                      "--batch-size", options.batch_size, "--augment", "standard", "--threads", "1", "--epochs", "1000000", "--json", *more])


def plan_for(options, place, *more):
    """By as many ranks of this host as the place has, up to two, which use TCP where the place does."""
    words = ["--plan", "--hosts", place.hosts, "--ranks-per-host", place.ranks, *(["--link", place.link] if place.link else [])]
    mpirun = ["mpirun", "-np", min(2, place.hosts * place.ranks), *(["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"] if place.hosts > 1 else [])]
    return train(options, mpirun, options.data, *words, *more)["target"]


def run(options, place, steps, *more):
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return train(options, place.mpirun, place.data, "--max-steps", steps, "--eval-every", "0", "--checkpoint-every", "0",
                     "--runs-dir", folder, "--quiet", *more)["images_per_second"]


def measure(options, place, *more):
    """The plan for the place, that of its own ranks, and the images/s of real runs."""
    target, there = plan_for(options, place, *more), train(options, place.mpirun, place.data, "--plan", *more)
    steps = max(FEWEST_STEPS, round(SECONDS / there["seconds"]["step"]))
    return target, there, [run(options, place, steps, *more) for _ in range(options.runs)]


def row_of(place, name, target, there, speeds):
    found = statistics.median(speeds)

    def beside(plan):
        off = plan["predicted_images_per_second"] / found - 1
        return f"{plan['predicted_images_per_second']:.1f} ({100 * off:+.0f} %{'' if abs(off) <= ASKED else ' (!)'})"
    return f"| {place.name} | {name} | {found:.1f} ({min(speeds):.1f} to {max(speeds):.1f}) | {beside(there)} | {beside(target)} |"


def places(options):
    """One after the other."""
    for hosts, ranks in PLACES:
        if hosts == 1:
            yield Place(hosts, ranks, ["mpirun", "-np", ranks], options.data)
    if not options.links:
        return
    from network import Network  # pylint: disable=import-outside-toplevel
    for rate, link in LINKS.items():
        for hosts, ranks in PLACES:
            if hosts == 1:
                continue
            with Network(hosts, rate, pathlib.Path(options.folder)) as network:
                for host in network.hosts.values():
                    host.run("cp", options.data, "/tmp/data.h5")
                mpirun = network.mpirun(dict.fromkeys(network.hosts, ranks), keepalive=30)
                yield Place(hosts, ranks, mpirun, "/tmp/data.h5", link, f"{hosts} x {ranks}, {link}")


def rows_elsewhere(options):
    for hosts, ranks in ELSEWHERE:
        for algorithm in ("flat", "two-level"):
            target = plan_for(options, Place(hosts, ranks, [], "", "25gbit"), "--all-reduce", algorithm)
            yield (f"| {hosts} x {ranks} | {algorithm} | {target['route']}, {target['rounds']} | {target['sent_bytes_per_host'] / 1e6:.1f} | "
                   f"{1e3 * target['seconds']['exchange']:.0f} | {target['predicted_images_per_second']:,.0f} | {100 * target['efficiency']:.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "data"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--model", default="resnet9")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--batch-size", default="32")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--links", action="store_true", help="also hosts joined at 100 Mbit/s, 1 Gbit/s and without limit")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.tandem, options.data = (str(pathlib.Path(path).resolve()) for path in (options.tandem, options.data))
    os.environ.update(ENVIRONMENT)
    os.environ.update(TANDEM_TEST_PROGRAM=options.tandem, TANDEM_TEST_MPIRUN="mpirun", TANDEM_TEST_DATA=options.data,
                      TANDEM_TEST_UNSHARE="unshare --mount --uts")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
    if options.links:
        from network import enter_namespaces  # pylint: disable=import-outside-toplevel
        enter_namespaces()
        # Ranks of this host send messages through loopback. With Ethernet's MTU they take as much processor time as on Ethernet.
        subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
    found = []
    print("| hosts x ranks, link | gradients | runs, images/s | plan there | plan from 1 host |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as options.folder:
        for place in places(options):
            for name, more in WAYS:
                target, there, speeds = measure(options, place, *more)
                found.append(dict(place=place.name, gradients=name, target=target, plan=there, images_per_second=speeds))
                print(row_of(place, name, target, there, speeds), flush=True)
    print("\n| hosts x ranks | all-reduce | messages, in a row | MB of a host | exchange, ms | images/s | efficiency |\n"
          "|---|---|---|---|---|---|---|")
    for row in rows_elsewhere(options):
        print(row, flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
