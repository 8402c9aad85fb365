#!/usr/bin/env python3
"""Holds docs/troubleshooting.md against tests/golden, which holds what the program was seen to say.

Each row's message is one of those, and each of those has a row. In a row … stands for any text."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/troubleshooting.md"


def rows():
    """The first column of each table but its heading: {message: pattern}."""
    messages = re.findall(r"^\| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {message: re.compile(".+".join(map(re.escape, message.split("…")))) for message in messages}


def said():
    """The first lines of all messages, without who speaks."""
    for path in sorted((ROOT / "tests/golden").glob("*_messages.json")):
        for name, case in json.loads(path.read_text(encoding="utf-8")).items():
            for message in case["messages"]:
                line = re.sub(r"^tandem: (error|warning): (rank \d+ \(<host>\): )?", "", message[0])
                yield f"{path.name}: {name}", line


def main():
    patterns = rows()
    lines = list(said())
    faults = [f"no test produces this row: {message}" for message, pattern in patterns.items()
              if not any(pattern.fullmatch(line) for _, line in lines)]
    faults += [f"no row for '{line}' ({where})" for where, line in lines
               if not any(pattern.fullmatch(line) for pattern in patterns.values())]
    for fault in faults:
        print(f"FAULT {PAGE.name}: {fault}")
    print(f"{len(patterns)} rows, {len(lines)} messages")
    sys.exit(1 if faults or not patterns else 0)


if __name__ == "__main__":
    main()
