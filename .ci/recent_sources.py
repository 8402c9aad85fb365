#!/usr/bin/env python3
"""Prints the COUNT sources of src/ that the newest commits changed, or whose headers they changed, newest first, by the
dependencies that a Ninja build has recorded.

    recent_sources.py BUILD COUNT"""

import os
import pathlib
import subprocess
import sys


def lines_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def users_of_files(build):
    """{file: sources that depend on it}, paths relative to the current folder."""
    users, source = {}, None
    for line in lines_of("ninja", "-C", build, "-t", "deps"):
        if not line.startswith(" "):
            source = None
            continue
        path = os.path.relpath(pathlib.Path(build, line.strip()).resolve())
        source = source or path  # a compiler names the source first
        if source.startswith("src/"):
            users.setdefault(path, []).append(source)
    return users


def main():
    build, count = sys.argv[1], int(sys.argv[2])
    users = users_of_files(build)
    changed = lines_of("git", "log", "--name-only", "--pretty=", "-n", "50", "--", "src", "include")
    sources = dict.fromkeys(source for path in dict.fromkeys(changed) for source in users.get(path, []))
    print("\n".join(list(sources)[:count]))


main()
