#!/usr/bin/env python3
"""No rank outlives a killed launcher: in every command, at any time, stopped or running, with or without a shell in between."""

import os
import pathlib
import signal
import time
import unittest

from jobs import Job
from tandem import DATA, MPIRUN, PROGRAM, TandemTest

LIBRARY = os.environ["TANDEM_TEST_HANG_POINTS"]
GONE_SECONDS = 8
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", 64, "--epochs", 100000, "--log-every", 1,
         "--eval-every", 0, "--quiet", "--run-id", "a"]
IN_SHELL = ["bash", "-c", '"$@"; true', "bash"]


def wait_for(condition):
    end = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Launcher(TandemTest):
    def stopped_at(self, place, *command):
        """A job whose rank 1 has stopped at this place."""
        log = self.folder / "places"
        job = Job([*MPIRUN, "-n", 2, "-x", f"LD_PRELOAD={LIBRARY}", PROGRAM, *command], self.folder,
                  {"HANG_POINTS_RANK": "1", "HANG_POINTS_LOG": str(log), "HANG_POINTS": str(place)}, own_session=False)
        self.addCleanup(job.end)
        wait_for(lambda: log.exists() and "stopped" in log.read_text())
        return job

    def assert_nothing_is_left(self, job):
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait(GONE_SECONDS)

    def test_in_training_with_a_shell_between_and_a_rank_stopped(self):
        job = Job([*MPIRUN, "-n", 2, *IN_SHELL, PROGRAM, *TRAIN], self.folder, own_session=False)
        self.addCleanup(job.end)
        metrics = self.folder / "runs/a/metrics.jsonl"
        wait_for(lambda: metrics.exists() and '"step":5,' in metrics.read_text())
        ranks = [rank for rank in job.processes() if pathlib.Path(f"/proc/{rank}/comm").read_text() == "tandem\n"]
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[1], signal.SIGSTOP)
        self.assert_nothing_is_left(job)

    def test_before_mpi_has_begun(self):
        self.assert_nothing_is_left(self.stopped_at(1, "info"))

    def test_while_mpi_begins(self):
        self.assert_nothing_is_left(self.stopped_at(2, "doctor"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
