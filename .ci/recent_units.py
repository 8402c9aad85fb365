#!/usr/bin/env python3
"""Prints the COUNT sources of src/ that the newest commits changed, directly or through a header, newest first. The
dependencies on headers are those that a Ninja build has recorded.

    recent_sources.py BUILD COUNT"""

import os
import pathlib
import subprocess
import sys


def lines_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def users_of_files(build):
    """{file: sources that depend on it}, paths relative to the current folder. An object of a unity build has several
    sources."""
    users = {}
    for block in "\n".join(lines_of("ninja", "-C", build, "-t", "deps")).split("\n\n"):
        paths = [os.path.relpath(pathlib.Path(build, line.strip()).resolve()) for line in block.splitlines()[1:]]
        sources = [path for path in paths if path.startswith("src/") and path.endswith(".cpp")]
        for path in paths:
            users.setdefault(path, []).extend(sources)
    return users


def main():
    build, count = sys.argv[1], int(sys.argv[2])
    users = users_of_files(build)
    changed = lines_of("git", "log", "--name-only", "--pretty=", "-n", "50", "--", "src", "include")
    sources = dict.fromkeys(source for path in dict.fromkeys(changed) for source in users.get(path, []))
    print("\n".join(list(sources)[:count]))


main()
