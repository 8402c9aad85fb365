#!/usr/bin/env python3
"""Holds the documentation against the program.

    check_docs.py PAGE --tandem PROGRAM [--python PYTHON]

Runs every ```sh block of PAGE in order, each in a bash of its own that stops at the first failure, in one folder
with nothing but a link `python`, and with `tandem` on the PATH. A block marked ```sh needs=torch,h5py finds a `python3` that has these modules; where neither
PYTHON nor this Python has them, it is reported and left out (TANDEM_CI=1: a failure). Blocks of other kinds are not run:
```console for what needs a network, a cluster or minutes, ```text for output.

Also checked: every option in a tandem command line of any block, every link to a file and a heading, every target of Makefile.hpc, and
in reference.md that commands, options and defaults are those that --help prints, all of them and no others.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference.md"


class Block:
    def __init__(self, line, info):
        self.line, self.info, self.text = line, info, ""

    def kind(self):
        return self.info.split(" ")[0]

    def needs(self):
        found = re.search(r"needs=(\S+)", self.info)
        return found.group(1).split(",") if found else []


def blocks_of(text):
    """The fenced blocks of a page."""
    blocks, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if current is None:
                current = Block(number, line[3:].strip())
            else:
                blocks.append(current)
                current = None
        elif current is not None:
            current.text += line + "\n"
    return blocks


def help_of(tandem, *command):
    return subprocess.run([tandem, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


class Commands(dict):
    """The options of each command, asked of the program when they are first needed: a start of it takes a while."""

    def __init__(self, tandem):
        super().__init__()
        self.tandem = tandem
        self.names = re.findall(r"^  ([a-z]+)  +\S", help_of(tandem).split("commands:\n")[1], re.MULTILINE)

    def __missing__(self, command):
        self[command] = options_of(self.tandem, command)
        return self[command]


def options_of(tandem, command):
    """Default by option as --help shows them; "" where it shows none. A switch is named '[no-]name'."""
    options, name = {}, None
    for line in help_of(tandem, command).split("\nexample:")[0].splitlines():
        found = re.match(r"  --(\S+)", line)
        if found:
            name = found.group(1)
        if name and line.startswith("  "):
            default = re.search(r"\[([^\]]+)\]$", line[30:])
            options[name] = default.group(1) if default else ""
        else:
            name = None
    return options


def spellings(options):
    """What may be typed: --name, and --no-name of a switch."""
    typed = {"help"}
    for name in options:
        plain = name.replace("[no-]", "")
        typed |= {plain, "no-" + plain} if plain != name else {plain}
    return typed


def check_command_lines(text, blocks, commands):
    """Faults in the `tandem …` lines of the blocks and in inline code."""
    lines = [(b.line, line) for b in blocks if b.kind() in ("sh", "console")
             for line in b.text.replace("\\\n", " ").splitlines()]
    lines += [(0, code) for code in re.findall(r"`([^`\n]+)`", without_blocks(text))]
    for number, line in lines:
        where = f"line {number}" if number else "inline code"
        for words in re.findall(r"(?:^|[\s;|$(/])tandem\s+([^|;&#]+)", line):
            command, *rest = words.split()
            if not re.fullmatch(r"[a-z]+", command) or command == "help":
                continue
            if command not in commands.names:
                yield f"{where}: 'tandem {command}' is no command: {line.strip()}"
                continue
            typed, _, of_train = " ".join(rest).partition(" -- ")
            for owner, some in ((command, typed), ("train", of_train)):
                for name in re.findall(r"(?<!\S)--([a-z0-9][a-z0-9-]*)", some):
                    if name not in spellings(commands[owner]):
                        yield f"{where}: 'tandem {owner}' has no option --{name}: {line.strip()}"
        targets = (ROOT / "Makefile.hpc").read_text()
        for target in re.findall(r"make -f Makefile\.hpc ([a-z0-9-]+)", line):
            if not re.search(rf"^{target}:", targets, re.MULTILINE):
                yield f"{where}: Makefile.hpc has no target '{target}'"


def without_blocks(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(text):
    """The names under which GitHub makes the headings of a page known."""
    headings = re.findall(r"^#+ +(.+?) *$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(page, text):
    for target in re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", without_blocks(text)):
        name, _, anchor = "".join(target).partition("#")
        path = page.parent / name if name else page
        if "://" in name:
            continue
        if not path.exists():
            yield f"the link to '{name}' leads nowhere"
        elif anchor and anchor not in anchors_of(path.read_text(encoding="utf-8")):
            yield f"the link to '{name}#{anchor}' leads to no heading"


def check_reference(text, commands):
    """Each `## tandem COMMAND` section has one table row for each option: | `--name X` | default | meaning |."""
    sections = dict(re.findall(r"^## tandem ([a-z]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    for command in sorted(set(sections) ^ set(commands.names)):
        yield f"command '{command}' is " + ("not in --help" if command in sections else "not described")
    for command in sorted(set(sections) & set(commands.names)):
        rows = dict(re.findall(r"^\| `--(\S+)[^`]*` \| ([^|]*?) *\|", sections[command], re.MULTILINE))
        for name in sorted(set(rows) ^ set(commands[command])):
            yield f"tandem {command}: option --{name} is " + ("not in --help" if name in rows else "not described")
        for name in sorted(set(rows) & set(commands[command])):
            stated = rows[name].strip("`")
            if stated != commands[command][name]:
                yield f"tandem {command}: --{name} states default '{stated}', --help '{commands[command][name]}'"


def python_with(modules, candidates):
    """A Python that has all of `modules`, or None."""
    script = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
    for python in candidates:
        if subprocess.run([python, "-c", script, *modules]).returncode == 0:
            return python
    return None


def write_command(folder, name, target):
    """A command `name` in `folder` that runs `target`; no link, because a virtual environment is found by its path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nexec {shlex.quote(str(target))} \"$@\"\n")
    path.chmod(0o755)


def run_blocks(page, blocks, tandem, pythons):
    """Faults of the blocks that were run."""
    with tempfile.TemporaryDirectory(prefix="tandem-docs-") as name:
        commands, work = pathlib.Path(name) / "bin", pathlib.Path(name) / "work"
        commands.mkdir()
        work.mkdir()
        write_command(commands, "tandem", tandem)
        (work / "python").symlink_to(ROOT / "python")
        environment = dict(os.environ, PATH=f"{commands}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1")
        for block in (b for b in blocks if b.kind() == "sh"):
            if block.needs():
                python = python_with(block.needs(), pythons)
                if not python:
                    print(f"not run: {page.name}:{block.line}: needs a Python with {', '.join(block.needs())}")
                    if os.environ.get("TANDEM_CI") == "1":
                        yield f"line {block.line}: TANDEM_CI=1: every block must run"
                    continue
                write_command(commands, "python3", python)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=work, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  errors="replace")
            print(f"ran {page.name}:{block.line}: exit code {done.returncode}")
            if done.returncode != 0:
                yield f"line {block.line}: exit code {done.returncode}\n{block.text}--- it printed:\n{done.stdout}"
                return


def check_exit_codes(text):
    """Each code that the program can throw has a row in the table of exit codes."""
    source = (REFERENCE.parents[1] / "include/tandem/core/error.hpp").read_text(encoding="utf-8")
    known = set(re.findall(r"ErrorWithCode<ExitCode::(\w+)>", source))
    rows = set(re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    for name, code in re.findall(r"(k\w+) = (\d+),", source):
        if name in known and code not in rows:
            yield f"exit code {code} ({name}) is not described"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--tandem", required=True, type=pathlib.Path)
    parser.add_argument("--python", default="", help="one with torch, h5py and safetensors")
    given = parser.parse_args()
    page, tandem = given.page.resolve(), given.tandem.resolve()

    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    commands = Commands(tandem)
    faults = [*check_command_lines(text, blocks, commands), *check_links(page, text)]
    if page == REFERENCE:
        faults += [*check_reference(text, commands), *check_exit_codes(text)]
    # The distribution's h5py is not visible to a Python of one's own.
    pythons = [python for python in (given.python, sys.executable, "/usr/bin/python3") if python and os.path.exists(python)]
    faults += run_blocks(page, blocks, tandem, pythons)
    for fault in faults:
        print(f"FAULT {page.name}: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
