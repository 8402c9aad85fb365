"""The strongest form of a peer: the program and the switches that are best for a row on this processor.

A form is a tuple of words as one would type them: NAME=VALUE for the environment, then a program of PEERS, then its options. The
search is greedy, because all combinations of switches would take days. It tries each family without switches. Then those near the
best get one group of switches after the other, and it keeps the best choice of each group. It tries every form once, and keeps the
result in a file by processor, PyTorch, row and digest of the peer's programs. So an interrupted search continues."""

import hashlib
import json
import pathlib
import re

NEAR = 0.9  # of the best family; the switches of others are not tried
KEEPS_BLOCKS = ("MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=8589934592")
HUGE_PAGES = ("THP_MEM_ALLOC_ENABLE=1",)
# Of ddp_compiled.py, whose defaults are what its author thinks best.
SWITCHES = ((("--exchange", "flat"),),
            (("--allocator", "keep"), ("--allocator", "tcmalloc"), ("--allocator", "jemalloc")),
            (("--no-thp",),), (("--no-pin",),), (("--no-fused",),), (("--slow-data",),))
COMPILED_SWITCHES = ((("--cpp-wrapper",),), (("--mode", "max-autotune-no-cudagraphs"),), *SWITCHES)
BUCKETS = ((("--bucket-mb", "1"), ("--bucket-mb", "5")),)
SETTINGS = ((KEEPS_BLOCKS,), (HUGE_PAGES,))  # for programs without switches for them


def families_of_training(*words, more=()):
    """Eager and compiled, each with its groups of switches."""
    name = ("ddp_compiled.py", *words)
    return {name: (*more, *SWITCHES), (*name, "--compile"): (*more, *COMPILED_SWITCHES),
            (*name, "--compile", "ddp"): (*more, *COMPILED_SWITCHES)}


def parts(form):
    """Environment, program, options."""
    settings = [word for word in form if re.fullmatch(r"[A-Z_]+=.*", word)]
    program, *options = [word for word in form if word not in settings]
    return dict(word.split("=", 1) for word in settings), program, options


def with_switch(form, switch):
    """Settings go in front, options behind."""
    return (*switch, *form) if "=" in switch[0] else (*form, *switch)


def strongest(families, score):
    """`score(form)`: the more the better, 0 where the peer refuses the form."""
    most = max(score(family) for family in families)
    if most == 0:
        raise SystemExit(f"the peer runs in none of the forms {', '.join(' '.join(family) for family in families)}")
    found = []
    for family, groups in families.items():
        if score(family) < NEAR * most:
            continue
        form = family
        for group in groups:
            form = max((form, *(with_switch(form, switch) for switch in group)), key=score)  # of equals the first
        found.append(form)
    return max(found, key=score)


class Forms:
    def __init__(self, path, processor, torch):
        self.path, self.where = pathlib.Path(path), f"{processor}; PyTorch {torch}"
        self.kept = json.loads(self.path.read_text()) if self.path.exists() else {}

    def best(self, row, families, folders, reached):
        """`reached(form)`: the more the better; raises SystemExit if the peer refuses the form. `folders` hold the programs."""
        programs = sorted({parts(family)[1] for family in families})
        digest = hashlib.sha256(b"".join(find_program(folders, name).read_bytes() for name in programs)).hexdigest()[:16]
        tried = self.kept.setdefault(f"{row}; {self.where}; {' '.join(programs)} {digest}", {})
        refused = set()  # kept for this search alone: the cause may have been a busy machine

        def score(form):
            name = " ".join(form)
            if name not in tried and name not in refused:
                try:
                    tried[name] = reached(form)
                    self.path.write_text(json.dumps(self.kept, indent=1) + "\n")
                except SystemExit:
                    refused.add(name)
            return tried.get(name, 0)

        return strongest(families, score)


def find_program(folders, name):
    return next(path for path in (pathlib.Path(folder) / name for folder in folders) if path.exists())
