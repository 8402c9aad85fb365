"""Jobs that are hurt: which processes they consist of, and that nothing of them stays."""

import os
import pathlib
import subprocess
import time

from processes import by_rank, kill_all


class Job:
    """A command of mpirun in a session of its own, by which all of its processes are found."""

    def __init__(self, command, folder, environment={}):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(self.command, cwd=folder, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True,
                                        env={**os.environ, **environment})

    def processes(self):
        """Those of the session that have not ended."""
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            except OSError:  # it has ended since
                continue
            if int(session) == self.process.pid and state != "Z":
                found.append(int(stat.parent.name))
        return found

    def ranks(self):
        """Processes by rank, as far as they run already."""
        return by_rank(self.processes())

    def wait(self, seconds):
        """Exit code and words, once all processes are gone; fails where that takes longer, and ends them."""
        end = time.monotonic() + seconds
        try:
            words, _ = self.process.communicate(timeout=seconds)
            while left := self.processes():
                assert time.monotonic() < end, f"processes {left} outlived {self.command}\n{words}"
                time.sleep(0.02)
            return self.process.returncode, words
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"not over in {seconds} s: processes {self.processes()} of {self.command}") from error
        finally:
            self.end()

    def end(self):
        kill_all(self.processes())
        if self.process.poll() is None:
            self.process.communicate()
