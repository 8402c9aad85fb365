#!/usr/bin/env python3
"""Prints the branch coverage of src/core, src/comm, src/device and src/train, by gcovr: coverage.py BUILD [FILE…]

For each FILE it also prints the branches that were not taken. Files that call CUDA, NCCL or a driver are left out, because no machine
without a GPU can take all of their branches.
"""

import collections
import json
import pathlib
import subprocess
import sys

FOLDERS = ["src/core/", "src/comm/", "src/device/", "src/train/"]
OF_GPUS = r"src/(comm/(gpu_api|nccl_handle|nccl_communicator|no_gpu)|device/cuda_driver)\.[ch]pp"


def measure(build):
    """[path, lines] of each file, each line with its branches."""
    command = ["gcovr", "--root", ".", "--object-directory", build, "--exclude-throw-branches", "--exclude-unreachable-branches",
               "--exclude", OF_GPUS, "--json", "-", "--gcov-ignore-parse-errors"]
    for folder in FOLDERS:
        command += ["--filter", folder]
    done = subprocess.run([*command, build], stdout=subprocess.PIPE, check=True)
    return [(file["file"], file["lines"]) for file in json.loads(done.stdout)["files"]]


def main():
    build, *named = sys.argv[1:]
    sums = collections.defaultdict(lambda: [0, 0])
    files = measure(build)
    for path, lines in files:
        branches = [branch["count"] > 0 for line in lines for branch in line["branches"]]
        for name in (path, str(pathlib.Path(path).parent) + "/", "all"):
            sums[name][0] += sum(branches)
            sums[name][1] += len(branches)
    for name, (taken, count) in sorted(sums.items()):
        share = f"{100 * taken / count:5.1f} %" if count else "      -"
        print(f"{share} {taken:5} of {count:5}  {name}")
    for path, lines in files:
        source = pathlib.Path(path).read_text().splitlines() if path in named else []
        for line in lines if source else []:
            taken = [branch["count"] > 0 for branch in line["branches"]]
            if not all(taken):
                print(f"{path}:{line['line_number']}: {sum(taken)} of {len(taken)}: {source[line['line_number'] - 1].strip()}")


if __name__ == "__main__":
    main()
