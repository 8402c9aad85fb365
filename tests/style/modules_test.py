#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md on uses between modules and their folders and on third-party headers, and that
each file that a page names exists.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
# The other modules that each module may use. The program uses only the settings of model and train, without libtorch.
BELOW_PROGRAM = {"core", "comm", "device", "data", "metrics", "model", "train"}
USES = {
    "core": set(),
    "kernels": set(),
    "comm": {"core", "kernels"},
    "device": {"core", "comm"},
    "data": {"core"},
    "metrics": {"core"},
    "model": {"core", "kernels"},
    "gpu": {"core", "model"},
    "train": {"core", "kernels", "comm", "data", "metrics", "model"},
    "report": {"core", "data", "metrics"},
    "cli": BELOW_PROGRAM,
    "session": BELOW_PROGRAM | {"cli"},
    "diagnose": BELOW_PROGRAM | {"cli", "session"},
    "commands": BELOW_PROGRAM | {"cli", "session", "diagnose", "report"},
    "app": {"core", "comm", "commands"},
    "engine": BELOW_PROGRAM | {"cli", "session", "diagnose", "report"},
}
# The beginnings of the names of headers, by the name of their library in the table of the page.
HEADERS = {
    "OpenSSL": ["openssl/"],
    "Boost.CRC": ["boost/crc"],
    "Boost.Math": ["boost/math/"],
    "Boost.ProgramOptions": ["boost/program_options"],
    "another part of Boost": ["boost/"],
    "nlohmann-json": ["nlohmann/"],
    "MPI": ["mpi.h"],
    "CUDA": ["cuda"],
    "NCCL": ["nccl"],
    "HDF5": ["hdf5.h", "H5"],
    "zlib": ["zlib.h"],
    "libarchive": ["archive"],
    "libpng": ["png"],
    "libjpeg": ["jpeglib.h", "jerror.h"],
    "libtorch": ["torch/", "ATen/", "c10/", "caffe2/"],
}
# Libraries that public headers of the modules that hold them may show.
PUBLIC = {"nlohmann-json", "libtorch"}
# Files that the reader creates.
OF_THE_READER = {"src/model/tiny.cpp"}


def module_of(path):
    """src/MODULE/…, include/tandem/MODULE/…"""
    parts = path.relative_to(ROOT).parts
    return parts[1 if parts[0] == "src" else 2]


def library_of(header):
    return next((name for name, starts in HEADERS.items() if header.startswith(tuple(starts))), None)


def includes_of(file):
    """(line, header, its file in the tree or None)"""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+(["<])([^">]+)', line)
        if found:
            folders = (file.parent, ROOT / "src" / module_of(file), ROOT / "src", ROOT / "include")
            targets = [folder / found[2] for folder in folders] if found[1] == '"' else []
            yield number, found[2], next((target.resolve() for target in targets if target.exists()), None)


def holders_of_libraries(page):
    """{library: modules} and all modules, from the table of the page."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", page, re.MULTILINE)
    holders = {name: {row[0] for row in rows if name in re.split("[,;] | and ", row[1])} for name in HEADERS}
    return holders, {row[0] for row in rows}


def include_faults(files, holders):
    for file in files:
        module = module_of(file)
        for number, header, target in includes_of(file):
            where = f"{file.relative_to(ROOT)}:{number}: {header}"
            library = library_of(header)
            if target:
                other = module_of(target)
                if other != module and other not in USES[module]:
                    yield f"{where}: {module} may not use {other}"
                if other != module and "src" in target.relative_to(ROOT).parts and (ROOT / "include/tandem" / other).exists():
                    yield f"{where}: a private header of {other}, whose public ones are in include/tandem/{other}"
            elif library and module not in holders[library]:
                yield f"{where}: {module} may not use {library}"
            elif library and "include" in file.relative_to(ROOT).parts and library not in PUBLIC:
                yield f"{where}: a public header shows {library}"


def torch_faults(files, holders):
    """Headers that bring libtorch to modules that compile without it."""
    held = [file for file in files if module_of(file) in holders["libtorch"]]
    reached, size = {file for file in held if any(library_of(header) == "libtorch" for _, header, _ in includes_of(file))}, 0
    while size < len(reached):
        size = len(reached)
        reached |= {file for file in held if any(target in reached for _, _, target in includes_of(file))}
    for file in sorted(set(files) - set(held)):
        for number, header, target in includes_of(file):
            if target in reached:
                yield f"{file.relative_to(ROOT)}:{number}: {header}: includes libtorch, which {module_of(file)} may not use"


def link_faults():
    for file in ROOT.glob("src/*/CMakeLists.txt"):
        module = file.parent.name
        for uses in re.findall(r"^\s+USES ([\w ]+)", file.read_text(), re.MULTILINE):
            for other in {use.replace("_front", "") for use in uses.split()} - USES[module] - {module}:
                yield f"{file.relative_to(ROOT)}: {module} may not use {other}"


def folder_faults(files, page):
    """A folder uses only folders in earlier rows of the page's tables. A public header belongs to the folder of the .cpp file
    of the same name. Without such a file it belongs to the folder that comes last in the table among those of its includes."""
    tables = re.findall(r"^\| folder of `src/(\w+)/` .*\n\|-.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    if [module for module, _ in tables] != ["data", "train"]:
        yield "docs/architecture.md: a table of the folders of src/data/ and one of those of src/train/ are expected"
    for module, table in tables:
        rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        for name in set(rows) ^ {path.name for path in (ROOT / "src" / module).iterdir() if path.is_dir()}:
            yield f"docs/architecture.md: src/{module}/{name} is in the table or in the tree, not in both"
        inside = [file for file in files if module_of(file) == module]
        row_of = {file.stem: rows.index(file.parent.name) for file in inside if file.parent.name in rows}

        def row(header):
            if header.stem in row_of:
                return row_of[header.stem]
            return max((row(target) for _, _, target in includes_of(header) if target in inside), default=-1)

        for file in inside:
            for number, header, target in includes_of(file):
                if target in inside and row(target) > row_of.get(file.stem, len(rows)):
                    yield f"{file.relative_to(ROOT)}:{number}: {header}: belongs to {rows[row(target)]}, a later row of the table"


def page_faults(pages):
    names = {path.name for folder in ("src", "include", "tests", "examples") for path in (ROOT / folder).rglob("*")}
    for page in pages:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            where = f"{page.relative_to(ROOT)}:{number}"
            for path in re.findall(r"(?<![\w/.$-])(?:src|include|tests|python|examples|cmake|jobs)/[\w./-]*\w", line):
                if not (ROOT / path).exists() and "NAME" not in path and path not in OF_THE_READER:
                    yield f"{where}: {path} does not exist"
            for name in re.findall(r"`(\w+\.[ch]pp)`", line):
                if name not in names:
                    yield f"{where}: no file is called {name}"


def main():
    files = sorted(path for folder in ("src", "include") for path in (ROOT / folder).rglob("*.[ch]pp"))
    pages = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
    page = (ROOT / "docs/architecture.md").read_text()
    holders, modules = holders_of_libraries(page)
    found = [f"docs/architecture.md: {name} is in the table or in the test, not in both" for name in modules ^ set(USES)]
    found += [*include_faults(files, holders), *torch_faults(files, holders), *link_faults(), *folder_faults(files, page), *page_faults(pages)]
    print(*found, f"{len(files)} files, {len(pages)} pages, {len(found)} faults", sep="\n")
    return 1 if found or len(files) < 300 or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
