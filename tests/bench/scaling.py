#!/usr/bin/env python3
"""Measures how near `tandem train --plan` comes, and prints the tables of docs/scaling.md.

For each number of ranks on this host, and with --links on two hosts made of network namespaces (needs root and iproute2), the
plan's images/s beside those of real runs, and then what the model says of more ranks. The plan and the runs follow each other
directly, one thread a rank.

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
RANKS = (1, 2, 4)
LINKS = ("1gbit", "100mbit")
HOSTS = ({"n1": 1, "n2": 1}, {"n1": 2, "n2": 2})
# name of a column, and what it adds to the command line
WAYS = (("fp32", []), ("bf16", ["--grad-dtype", "bf16"]))
SECONDS = 10  # of a run, about, by the plan's word
FEWEST_STEPS = 15  # of which the first five do not count
ASKED = 0.20


def last_json(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}\nended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(options, mpirun, data, more):
    """The plan, and the images/s of real runs."""
    words = [*mpirun, options.tandem, "train", "--data", data, "--model", options.model, "--precision", options.precision,
             "--batch-size", options.batch_size, "--augment", "standard", "--threads", "1", "--epochs", "1000000", *more]
    plan = last_json([*words, "--plan", "--json"])
    steps = max(FEWEST_STEPS, round(SECONDS / plan["seconds"]["step"]))
    speeds = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            run = ["--max-steps", steps, "--eval-every", "0", "--checkpoint-every", "0", "--runs-dir", folder, "--quiet", "--json"]
            speeds.append(last_json([*words, *run])["images_per_second"])
    return plan, speeds


def row_of(place, name, plan, speeds):
    found = statistics.median(speeds)
    off = plan["predicted_images_per_second"] / found - 1
    return (f"| {place} | {name} | {plan['predicted_images_per_second']:.1f} | {found:.1f} ({min(speeds):.1f} to {max(speeds):.1f}) | "
            f"{100 * off:+.0f} %{'' if abs(off) <= ASKED else ' (!)'} |")


def carried_rows(place, name, plan):
    seconds = plan["model_seconds"]
    alone = plan["global_batch"] / plan["ranks"] / (seconds["step"] - seconds["exchange"] - seconds["agreement"])
    for each in plan["carried"]:
        share = each["images_per_second_doubling"] / each["ranks"] / alone
        yield (f"| {place} | {name} | {each['ranks']:,} | {each['images_per_second_doubling']:,.0f} | "
               f"{each['images_per_second_ring']:,.0f} | {100 * share:.0f} % |")


def places(options):
    """(name, the words that start a job there, its data), one after the other."""
    for ranks in RANKS:
        yield f"one host, {ranks} ranks", ["mpirun", "-np", str(ranks)], options.data
    if not options.links:
        return
    from network import Network  # pylint: disable=import-outside-toplevel
    for rate in LINKS:
        with Network(2, rate, pathlib.Path(options.folder)) as network:
            for host in network.hosts.values():
                host.run("cp", options.data, "/tmp/data.h5")
            for ranks in HOSTS:
                yield f"2 hosts at {rate}, {sum(ranks.values())} ranks", network.mpirun(ranks, keepalive=30), "/tmp/data.h5"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "data"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--model", default="resnet9")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--batch-size", default="32")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--links", action="store_true", help="also two hosts at 1 Gbit/s and at 100 Mbit/s")
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
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # by which mpirun meets ranks of this host
    found = []
    print("| place | gradients | plan, images/s | runs, images/s | plan is off by |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as options.folder:
        for place, mpirun, data in places(options):
            for name, more in WAYS:
                plan, speeds = measure(options, mpirun, data, more)
                found.append(dict(place=place, gradients=name, plan=plan, images_per_second=speeds))
                print(row_of(place, name, plan, speeds), flush=True)
    print("\n| measured on | gradients | ranks | images/s | with a ring | of as many alone |\n|---|---|---|---|---|---|")
    for each in found:
        for row in carried_rows(each["place"], each["gradients"], each["plan"]):
            print(row)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
