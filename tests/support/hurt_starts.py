"""The last start of a scenario, killed at one of its system calls or with one that fails; then the same command again."""

import shutil
import subprocess

from crash_scenarios import Run, goes_on_to_the_end, reference
from crash_states import is_beside
from tandem import PROGRAM

CHANGES = ("create", "write", "ftruncate", "fallocate", "fsync", "fdatasync", "rename", "exchange", "link", "unlink", "mkdir")
# Errors that the calls can end with.
OF_NAMES = ["ENOSPC", "EDQUOT", "EIO", "EACCES"]
ERRORS = {"create": [*OF_NAMES, "EMFILE"], "open": ["EMFILE", "EACCES", "EIO"], "stat": ["EACCES", "EIO"], "fstat": ["EIO"],
          "read": ["EIO"], "lseek": ["EIO"], "sync_file_range": ["EIO"], "write": ["ENOSPC", "EDQUOT", "EIO"],
          "ftruncate": ["EIO", "EDQUOT"], "fallocate": ["ENOSPC", "EDQUOT"], "fsync": ["EIO", "ENOSPC", "EDQUOT"], "fdatasync": ["EIO", "ENOSPC", "EDQUOT"],
          "close": ["EIO", "EDQUOT", "ENOSPC"], "rename": OF_NAMES, "exchange": OF_NAMES, "link": OF_NAMES,
          "unlink": ["EIO", "EACCES"], "mkdir": OF_NAMES}
WATCHED = "runs:data.h5:<stdout>:<memfd>"
# Done; no memory for the images; an output that cannot be made; reading or writing failed (docs/reference.md).
CODES = (0, 69, 73, 74)
NAMED = ("runs", "data.h5", "standard output", "memory")  # one of these is in the message


def pack(folder):
    """The data set of the scenarios."""
    path = folder / "data.h5"
    subprocess.run([PROGRAM, "pack", "--input", "synthetic", "--images", "60", "--output", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


class LastStart:
    """A scenario before its last start, and the calls that this start makes."""

    def __init__(self, scenario, folder, data, watched="runs", quiet=("--quiet",)):
        self.scenario = scenario
        self.folder = folder
        self.data = data
        self.watched = watched
        self.quiet = quiet
        folder.mkdir()
        self.expected = reference(scenario, folder / "whole", data)
        self.run = Run(folder / "base", data, scenario.options)
        scenario.prepare(self.run)
        log = folder / "calls"
        self.copy("twin").start(*scenario.more, log=log, watched=watched, quiet=quiet)
        shutil.rmtree(folder / "twin")
        self.calls = [line.split(" ", 1) for line in log.read_text().splitlines()]

    def copy(self, name):
        shutil.copytree(self.run.folder, self.folder / name)
        return Run(self.folder / name, self.data, self.scenario.options)

    def numbered(self, names):
        """(number, name, path) of these calls, numbered among themselves."""
        return [(number, *call) for number, call in enumerate((call for call in self.calls if call[0] in names), 1)]

    def kills(self):
        """All calls at which to kill it, without those on files that no result depends on."""
        return [call for call in self.numbered(CHANGES) if not is_beside(call[-1])]

    def faults(self):
        """All calls with every error that each can have; reads and writes, which are many, take turns."""
        return [(*call, error) for call in self.numbered(ERRORS)
                for error in ([ERRORS[call[1]][call[0] % len(ERRORS[call[1]])]] if call[1] in ("write", "read", "close")
                              else ERRORS[call[1]])]

    def check_kill(self, number, name, path):
        run = self.copy(f"kill-{number}")
        before = min(self.scenario.floor, run.newest())
        run.start(*self.scenario.more, plan=f"change:{number}:kill", expected=(137,))
        try:
            self.check_after(run, before)
        except AssertionError as error:
            raise AssertionError(f"{self.scenario.name}, killed at change {number}, {name} {path}: {error}") from error
        shutil.rmtree(run.folder)

    def check_fault(self, number, name, path, error):
        """The exit code of the start that meets the fault."""
        run = self.copy(f"fault-{number}-{error}")
        before = min(self.scenario.floor, run.newest())
        try:
            code, words = run.start(*self.scenario.more, plan=f"any:{number}:{error}", watched=self.watched,
                                    quiet=self.quiet, expected=None)
            assert code in CODES, f"exit code {code}: {words}"
            errors = [line for line in words.splitlines() if "error: " in line]
            assert code == 0 or any(text in line for line in errors for text in NAMED), f"exit code {code}: {words}"
            excused = self.excused_by(words) if code == 0 else ()
            self.check_after(run, before, excused)
        except AssertionError as failure:
            raise AssertionError(f"{self.scenario.name}, call {number}, {name} {path}, {error}: {failure}") from failure
        shutil.rmtree(run.folder)
        return code

    def excused_by(self, words):
        """The parts that are missing from an otherwise complete run according to a warning."""
        warnings = [line for line in words.splitlines() if "warning: " in line]
        excused = [part for part in self.expected.parts if any(part in line for line in warnings)]
        if any("a checkpoint needs " in line for line in warnings):
            excused.append("best.safetensors")  # the failed checkpoint was the best; the next best takes its place
        if any("`tandem report " in line for line in warnings):
            excused += ["report.html", "evaluation.json"]
        return excused

    def check_after(self, run, before, excused=()):
        newest = run.newest()
        assert newest >= before, f"there was a checkpoint of step {before}, the newest left is of {newest}"
        goes_on_to_the_end(run, self.expected, excused)
