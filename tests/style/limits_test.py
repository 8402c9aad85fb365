#!/usr/bin/env python3
"""The limits of CONTRIBUTING.md on files, functions and parameters, as Universal Ctags sees them; libraries do not
print."""

import json
import subprocess
import sys

from modules_test import ROOT, module_of

MOST_FILE_LINES = 300
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 6
# Functions that hold a table or a script and nothing else.
TABLES = {"train_option_table", "bash_completion"}
# Modules that leave printing to their users, and the class whose purpose it is.
SILENT = {"kernels", "data", "comm", "metrics", "model", "gpu", "train", "report"}
PRINTERS = {"console"}


def number_of_parameters(signature):
    """Commas within brackets separate no parameters."""
    inside = signature[signature.index("(") + 1:signature.rindex(")")].strip()
    if inside in ("", "void"):
        return 0
    depth, commas = 0, 0
    for letter in inside:
        depth += letter in "<({["
        depth -= letter in ">)}]"
        commas += letter == "," and depth == 0
    return commas + 1


def functions(files):
    ctags = ["ctags", "--languages=C++", "--kinds-C++=fp", "--fields=+neS", "--output-format=json", "-f", "-"]
    done = subprocess.run([*ctags, *map(str, files)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if not tag["name"].isupper():  # the use of a macro
            yield tag


def faults(files, tags):
    for file in files:
        lines = len(file.read_text().splitlines())
        if "core/print.hpp" in file.read_text() and module_of(file) in SILENT and file.stem not in PRINTERS:
            yield f"{file}: prints; {module_of(file)} must not print"
        if lines > MOST_FILE_LINES:
            yield f"{file}: {lines} lines; at most {MOST_FILE_LINES}"
    for tag in tags:
        where = f"{tag['path']}:{tag['line']}: {tag['name']}"
        lines = tag.get("end", tag["line"]) - tag["line"] + 1
        if lines > MOST_FUNCTION_LINES and tag["name"] not in TABLES:
            yield f"{where}: {lines} lines; at most {MOST_FUNCTION_LINES}"
        parameters = number_of_parameters(tag.get("signature") or "()")
        if parameters > MOST_PARAMETERS:
            yield f"{where}: {parameters} parameters; at most {MOST_PARAMETERS}"


def main():
    files = sorted(path for folder in ("src", "include") for path in (ROOT / folder).rglob("*.[ch]pp"))
    tags = list(functions(files))
    found = list(faults(files, tags))
    print(*found, f"{len(files)} files, {len(tags)} functions, {len(found)} above a limit", sep="\n")
    return 1 if found or len(tags) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
