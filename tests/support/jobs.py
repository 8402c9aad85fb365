"""Jobs that are hurt: which processes they consist of, and that nothing of them stays."""

import os
import pathlib
import subprocess
import time
import uuid

from processes import by_rank, kill_all, state_of


class Job:
    """A command of mpirun, whose processes are found by a mark in their environment.

    In a session of its own, the kernel itself ends stopped ranks whose launcher dies. With `own_session` false it does not,
    as in a script.
    """

    def __init__(self, command, folder, environment={}, own_session=True):
        self.command = [str(word) for word in command]
        self.mark = f"TANDEM_TEST_JOB={uuid.uuid4()}".encode()
        self.process = subprocess.Popen(self.command, cwd=folder, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=own_session,
                                        env={**os.environ, **environment, **dict([self.mark.decode().split("=")])})

    def processes(self):
        """The processes that have not ended."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark in (process / "environ").read_bytes().split(b"\0"):  # empty where it has ended
                    found.append(int(process.name))
            except OSError:
                continue
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
            states = "; ".join(state_of(process) for process in self.processes())
            words = (error.output or b"").decode()
            raise AssertionError(f"not over in {seconds} s: {self.command}: {states}\n{words}") from error
        finally:
            self.end()

    def end(self):
        kill_all(self.processes())
        if self.process.poll() is None:
            self.process.communicate()
