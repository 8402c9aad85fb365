#!/usr/bin/env python3
"""Mutation testing: changes one place of a source file at a time and checks that a test fails; `make -f Makefile.hpc mutation`.

Works on a copy of the tree below FOLDER, with a build of its own. The draw goes round the operators, and for each takes
a place from all files, by seed. What does not compile is drawn again. All are first given to unit and MPI tests; those
that survive then to tests of the whole program. Mutants that mean the same count as survivors.
"""

import argparse
import collections
import difflib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

from checks import Checks
from operators import apply, mutants_of

# By prefix of a file's path: its tests, the fastest first, as ctest names them; gtest's cases after a colon.
CHECKS = {
    "train/checkpoints/checkpoint_store": ["unit.train_test:CheckpointStore*", "e2e.resume", "fault.killed"],
    "train/checkpoints/checkpointer": ["unit.train_test:Checkpointer*", "mpi.train_mpi_test.np3", "fault.killed", "fault.messages", "e2e.resume"],
    "train/checkpoints/boundary_policy": ["unit.train_test:Checkpoint*:Boundary*", "e2e.resume"],
    "comm/agree": ["mpi.comm_mpi_test.np3", "mpi.comm_mpi_test.np4", "fault.messages"],
    "comm/stall_": ["unit.comm_test:Stall*", "fault.stall", "fault.hosts_stall"],
    "engine/run/run_start": ["unit.engine_test", "e2e.resume", "e2e.validation", "fault.messages", "e2e.script_model", "fault.lives",
                      "fault.two_writers"],
}
QUICK = ("unit.", "mpi.")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build-mutation"))
    parser.add_argument("--count", type=int, default=150, help="mutants that compile [150]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [1]")
    parser.add_argument("--only", default="", help="files whose path holds this")
    parser.add_argument("--list", action="store_true", help="print the draw and end")
    return parser.parse_args()


def sources(only):
    """{path: tests}"""
    found = {}
    for start, tests in CHECKS.items():
        paths = [path for path in pathlib.Path("src").glob(f"{start}*.cpp")]
        assert paths, f"no file src/{start}*.cpp"
        found.update({path: tests for path in sorted(paths) if only in str(path)})
    return found


def draw(files, seed):
    """(path, mutant), each once: one operator after the other, until all are used up."""
    by_operator = collections.defaultdict(list)
    for path in files:
        for mutant in mutants_of(path.read_text()):
            by_operator[mutant.operator].append((path, mutant))
    chance = random.Random(seed)
    for each in by_operator.values():
        chance.shuffle(each)
    while any(by_operator.values()):
        for operator in sorted(by_operator):
            if by_operator[operator]:
                yield by_operator[operator].pop()


def difference(path, mutant):
    source = path.read_text()
    lines = difflib.unified_diff(source.splitlines(), apply(source, mutant).splitlines(), str(path), str(path), lineterm="", n=1)
    return "\n".join(lines)


def place_of(path, mutant):
    line = path.read_text().count("\n", 0, mutant.begin) + 1
    return f"{path}:{line}: {mutant.operator}"


def copy_tree(target):
    """Copies all files that git does not ignore; writes only those that differ, so that a build there stays valid."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    for name in names:
        source, copy = pathlib.Path(name), target / name
        if source.exists() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def main():
    options = read_options()
    files = sources(options.only)
    if options.list:
        for (path, mutant), _ in zip(draw(files, options.seed), range(options.count)):
            print(f"{mutant.operator}\n{difference(path, mutant)}\n")
        return 0
    tree = options.folder / "tree"
    copy_tree(tree)
    checks = Checks(tree, options.folder / "build")
    began = time.monotonic()
    killers = {}  # by (path, mutant)
    for is_quick in (True, False):
        chosen = {path: [test for test in tests if test.startswith(QUICK) == is_quick] for path, tests in files.items()}
        checks.prove(sorted({test for tests in chosen.values() for test in tests}))
        for path, mutant in draw(files, options.seed) if is_quick else [each for each in killers if killers[each] is None]:
            if is_quick and len(killers) == options.count:
                break
            copy, source = tree / path, path.read_text()
            copy.write_text(apply(source, mutant))
            try:
                killer = checks.killer(path, chosen[path])
            finally:
                copy.write_text(source)
            print(f"{len(killers):4} {time.monotonic() - began:6.0f} s  {place_of(path, mutant)}: {killer or 'survived'}", flush=True)
            if killer != "not compiled":
                killers[path, mutant] = killer
    results = [(path, mutant.operator, killer is not None) for (path, mutant), killer in killers.items()]
    print("\nSurvivors:")
    for (path, mutant), killer in killers.items():
        if killer is None:
            print(f"\n{place_of(path, mutant)}\n{difference(path, mutant)}")
    for what in (0, 1):
        print(f"\n| {('file', 'operator')[what]} | mutants | killed |\n|---|---|---|")
        for name in sorted({result[what] for result in results}):
            mine = [result[2] for result in results if result[what] == name]
            print(f"| {name} | {len(mine)} | {sum(mine)} |")
    killed = sum(result[2] for result in results)
    print(f"\n{killed} of {len(results)} mutants killed ({100 * killed / len(results):.0f} %), seed {options.seed}, "
          f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    os.chdir(subprocess.run(["git", "rev-parse", "--show-toplevel"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    sys.exit(main())
