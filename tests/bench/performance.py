#!/usr/bin/env python3
"""Measures tandem beside PyTorch programs, and writes a table of docs/performance.md.

The sides of a row run in turn, with two ranks of one thread. Compare only ratios of one run. The table has the median of each side,
and the median, least and most of the ratios. For times to accuracy it has the mean without the fastest and the slowest run. Nothing
else should run meanwhile. The peer of a row is the strongest of its forms (see forms.py); the search runs once on each processor.

Usage: performance.py --tandem build/bin/tandem --python PYTHON --peers FOLDER --data FOLDER_WITH_cifar-10-batches-bin
       --kept FOLDER [--runs 5] [--seeds 3] [--only NAME,NAME] [--deny-amx] [--document FILE]
PEERS holds ddp_cifar10.py, ddp_compiled.py and fast_cifar10.py. Rows of two hosts need root and iproute2. The
folder of --kept gets bench.json, bench-forms.json and the cache of torch.compile. bench.json also keeps the rows of earlier runs on
the same processor with the same versions.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from forms import Forms
from rows import LINKS, link_names, link_row, rows_of
from sides import Sides
from table import Processor, line_of, replace_table, table_of

ENVIRONMENT = dict(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
FEWEST_RUNS = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "python", "peers", "data", "kept"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runs", type=int, default=FEWEST_RUNS, help=f"pairs of a row, at least {FEWEST_RUNS}")
    parser.add_argument("--seeds", type=int, default=3, help="pairs of the recipe")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="names of rows")
    parser.add_argument("--deny-amx", action="store_true", help="measure both sides as if the processor had no AMX")
    parser.add_argument("--document")
    options = parser.parse_args()
    if options.runs < FEWEST_RUNS or options.seeds < 1:
        parser.error(f"--runs {options.runs} --seeds {options.seeds}: at least {FEWEST_RUNS} and 1")
    for name in ("tandem", "peers", "data", "kept"):
        setattr(options, name, str(pathlib.Path(getattr(options, name)).resolve()))
    options.python = str(pathlib.Path(options.python).absolute())  # a link, beside which its programs are
    return options


def machine_of(options, processor):
    torch = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    version = subprocess.run([options.tandem, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return dict(date=datetime.date.today().isoformat(), processors=f"{processor.count} x {processor.name}", tandem=version,
                pytorch=torch.stdout.strip())


class Kept:
    """bench.json: rows stay as long as they were measured on the same processor with the same versions."""

    def __init__(self, folder, machine):
        self.path, self.machine, self.rows = pathlib.Path(folder) / "bench.json", machine, {}
        before = json.loads(self.path.read_text()) if self.path.exists() else {}
        if all(before.get(name) == machine[name] for name in ("processors", "tandem", "pytorch")):
            self.rows = {row["name"]: row for row in before["rows"]}

    def add(self, row):
        self.rows[row["name"]] = row
        self.path.write_text(json.dumps({**self.machine, "rows": list(self.rows.values())}, indent=1) + "\n")


def measure_links(names, options):
    """Starts this program once for each row, in namespaces of its own. The child stores its row in bench.json. A failure raises."""
    for name in names:
        words = [f"--{word}={getattr(options, word)}" for word in ("tandem", "python", "peers", "data", "kept", "runs")]
        subprocess.run([sys.executable, "-B", __file__, *words, f"--only={name}", *["--deny-amx"] * options.deny_amx], check=True)


def main():
    options = arguments()
    processor = Processor(pathlib.Path("/proc/cpuinfo").read_text(), options.deny_amx)
    os.environ.update(ENVIRONMENT)
    os.environ.update(TANDEM_TEST_PROGRAM=options.tandem, TANDEM_TEST_MPIRUN="mpirun", TANDEM_TEST_DATA=options.tandem,
                      TANDEM_TEST_UNSHARE="unshare --mount --uts", TORCHINDUCTOR_CACHE_DIR=f"{options.kept}/inductor")
    sys.path.insert(0, str(SUPPORT))
    if options.deny_amx:
        from deny_amx import deny_amx  # pylint: disable=import-outside-toplevel
        deny_amx()
    is_link = len(options.only) == 1 and options.only[0] in LINKS and not options.document
    if is_link:
        from network import enter_namespaces  # pylint: disable=import-outside-toplevel
        enter_namespaces()
    machine = machine_of(options, processor)
    kept = Kept(options.kept, machine)
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(options, folder)
        sides.forms = Forms(f"{options.kept}/bench-forms.json", processor.name, machine["pytorch"])

        def measure(row):
            kept.add(row.measure(sides, options.seeds if row.mlperf else options.runs, processor))
            print(line_of(kept.rows[row.name]), flush=True)

        if is_link:
            with link_row(options.only[0], sides, processor) as row:
                measure(row)
            return
        rows, links = list(rows_of(sides, processor)), link_names(sides)
        names = [*(row.name for row in rows), *links]
        if unknown := set(options.only) - set(names):
            raise SystemExit(f"bench: --only {','.join(sorted(unknown))}: rows are {', '.join(names)}")
        for row in rows:
            if not options.only or row.name in options.only:
                measure(row)
        measure_links([name for name in links if not options.only or name in options.only], options)
    if options.document:
        found = Kept(options.kept, machine).rows
        document = pathlib.Path(options.document)
        table = table_of(machine, [found[name] for name in names if name in found])
        document.write_text(replace_table(document.read_text(), processor.kind, table))


if __name__ == "__main__":
    main()
