"""`flux batch` as PyPI has it, flux-python, without Flux itself: its parser of scripts and its job specification. Functions of
its C library, which are not needed for that, are stand-ins."""

import importlib.util
import pathlib
import re
import sys
import unittest.mock

FOLDER = pathlib.Path(importlib.util.find_spec("flux").submodule_search_locations[0])
CONSTANTS = {name for path in FOLDER.rglob("*.py") for name in re.findall(r"\bFLUX_[A-Z_]+", path.read_text())}


class Library:
    def __dir__(self):
        return sorted(CONSTANTS)

    def __getattr__(self, name):
        return 1 if name in CONSTANTS else unittest.mock.MagicMock()


for module in ("_flux", "_flux._core", "_flux._hostlist", "_flux._idset", "_flux._rlist", "_flux._security"):
    sys.modules[module] = unittest.mock.MagicMock()
sys.modules["_flux._core"].lib = Library()

import flux.cli.base  # noqa: E402
import flux.cli.batch  # noqa: E402
import flux.cli.run  # noqa: E402

flux.cli.base.CLIPluginRegistry = unittest.mock.MagicMock()


def job_of(script):
    """The job that `flux batch SCRIPT` would ask for. SystemExit where it refuses a line."""
    command = flux.cli.batch.BatchCmd("flux batch")
    sys.argv = ["flux-batch", "--dry-run", str(script)]
    command.argv = sys.argv[1:]
    command.script, options = command.process_script(command.parser.parse_args(command.argv))
    return command.init_jobspec(options).jobspec


def run_of(words):
    """The options that `flux run` reads from a command line, and the words of the program."""
    return flux.cli.run.RunCmd("flux run").parser.parse_args(words)
