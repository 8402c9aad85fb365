#!/usr/bin/env python3
"""Prints the compiled files of src/ that the newest commits changed, directly or through a header, newest first, for
about SECONDS of clang-tidy; `all` prints all. A unity build's file stands for its sources. BUILD is a Ninja build,
which has recorded its header dependencies. TIDY has the same settings, and the printed files belong to it.

    recent_units.py BUILD TIDY SECONDS|all"""

import json
import os
import pathlib
import re
import subprocess
import sys

# Of one core: measured. Reading libtorch's headers takes most of the first.
SECONDS_WITH_TORCH = 25
SECONDS_WITHOUT = 8


def lines_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def users_of_files(build):
    """{file: objects that depend on it}, files relative to the current folder, objects to `build`."""
    users = {}
    for block in "\n".join(lines_of("ninja", "-C", build, "-t", "deps")).split("\n\n"):
        head, *paths = block.splitlines()
        for path in paths:
            if "/src/" in path or "/tandem/" in path:
                file = os.path.relpath(os.path.realpath(os.path.join(build, path.strip())))
                users.setdefault(file, []).append(head.split(":")[0])
    return users


def recent(build, units, seconds):
    users = users_of_files(build)
    changed = lines_of("git", "log", "--name-only", "--pretty=", "-n", "50", "--", "src", "include")
    objects = dict.fromkeys(each for path in dict.fromkeys(changed) for each in users.get(path, []))
    for unit in (units[each] for each in objects if each in units):
        uses_torch = "/Unity/" in unit["file"] and "/torch/" in unit["command"]
        cost = SECONDS_WITH_TORCH if uses_torch else SECONDS_WITHOUT
        if cost <= seconds:
            seconds -= cost
            yield unit["file"]


def main():
    build, tidy, seconds = sys.argv[1:]
    commands = json.loads(pathlib.Path(tidy, "compile_commands.json").read_text())
    units = {re.search(r" -o (\S+)", each["command"])[1]: each for each in commands}
    units = {name: unit for name, unit in units.items() if name.startswith("src/")}
    everything = (unit["file"] for unit in units.values())
    print(*(everything if seconds == "all" else recent(build, units, int(seconds))), sep="\n")


main()
