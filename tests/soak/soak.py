#!/usr/bin/env python3
"""Hurts runs and files many times over and prints what is asked and what was measured; `make -f Makefile.hpc soak`."""

import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import traceback

from crashes import Crashes, DoubleFaults, FailingCalls
from damages import CheckpointDamages, DataDamages, SetDamages
from hangs import Hangs
from hostile import Hostile
from kills import Kills
from lives import Lives
from stops import Stops

PARTS = {"kills": Kills, "stops": Stops, "hangs": Hangs, "lives": Lives, "data": DataDamages, "set": SetDamages,
         "checkpoint": CheckpointDamages, "hostile": Hostile, "crashes": Crashes, "double": DoubleFaults,
         "calls": FailingCalls}
FUZZ_SECONDS = 600


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*PARTS, "fuzz"], help="one part instead of all")
    parser.add_argument("--count", type=int, help="cases of a part, instead of its own number")
    parser.add_argument("--case", type=int, help="this case only")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of all choices, else a new one")
    return parser.parse_args()


def run_part(name, options):
    """The row of the table, and whether all went well."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tandem-soak-") as folder:
        part = PARTS[name](pathlib.Path(folder))
        cases = [options.case] if options.case is not None else range(options.count or part.count)

        def check(case):
            try:
                return part.check(case, random.Random(f"{options.seed} {name} {case}"))
            except Exception as error:
                again = f"--only {name} --seed {options.seed} --case {case}"
                reason = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
                print(f"FAILED: {again}\n{reason}", file=sys.stderr, flush=True)
                return None

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = [result for result in pool.map(check, cases) if result is not None]
    measured = part.measured(results) if results else "0 of {items:,}"
    words = [text.format(count=len(cases), items=len(cases) * part.of_a_case) for text in (part.what, part.asked, measured)]
    return [*words, f"{time.monotonic() - began:.0f} s"], len(results) == len(cases)


def run_fuzz():
    began = time.monotonic()
    done = subprocess.run(["make", "-f", "Makefile.hpc", "fuzz", f"SECONDS_EACH={FUZZ_SECONDS}"])
    measured = "no finding" if done.returncode == 0 else f"FAILED: make fuzz ended with {done.returncode}"
    return ["readers are fuzzed under ASan and UBSan", f"{FUZZ_SECONDS} s each, no finding", measured,
            f"{time.monotonic() - began:.0f} s"], done.returncode == 0


def main():
    options = read_options()
    print(f"seed {options.seed}", flush=True)
    rows = []
    failed = False
    for name in [options.only] if options.only else [*PARTS, "fuzz"]:
        row, is_good = run_fuzz() if name == "fuzz" else run_part(name, options)
        print(f"{name}: {row[2]}, {row[3]}", file=sys.stderr, flush=True)
        rows.append(row)
        failed |= not is_good
    print("| test | required | measured | time |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
