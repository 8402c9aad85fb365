#!/usr/bin/env python3
"""A rank of another host that stops advancing is named, too: by its own host, or, where that is silent, by another."""

import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from hosts import IN_OWN_FOLDER, TWO_HOSTS
from processes import by_rank
from tandem import DATA, PROGRAM, TandemTest, whole

LIMIT = 15  # seconds of --stall-abort; a start takes less, also where other tests keep all cores busy
LIBRARY = os.environ["TANDEM_TEST_HANG_POINTS"]
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--epochs", "100000", "--log-every", "1",
         "--eval-every", "0", "--threads", "1", "--quiet", "--run-id", "a", "--stall-warn", "3", "--stall-abort", str(LIMIT)]


class HostsStall(TandemTest):
    def start(self):
        for host in ("n1", "n2"):
            (self.folder / host).mkdir(exist_ok=True)
        process = subprocess.Popen([*TWO_HOSTS, *IN_OWN_FOLDER, PROGRAM, *TRAIN], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        # By then each host has told the other about its ranks several times.
        self.wait_for_step(process, "n1/runs/a", 100)
        return process

    def process_of(self, rank):
        """Found by the folder in which it runs."""
        ours = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.folder in (entry / "cwd").readlink().parents:
                    ours.append(entry.name)
            except OSError:
                pass  # gone since, or a process of another user
        return by_rank(ours)[rank]

    def stop(self, rank, host, words):
        job = self.start()
        stopped = self.process_of(rank)
        os.kill(stopped, signal.SIGSTOP)
        start = time.monotonic()
        _, errors = job.communicate()
        self.assertLess(time.monotonic() - start, LIMIT + 5)
        self.assertEqual(job.returncode, 124, errors)
        named = rf"rank {rank} \({host}, process {stopped}\) has not advanced for \d+ s: step \d+, [a-z]+; its process does not run"
        for kind in ("warning", "error"):
            self.assertEqual(len(re.findall(f"{kind}: {named}{words}", errors)), 1, errors)

    def test_its_own_host_names_it(self):
        self.stop(0, "n1", "(?!, or)")

    @whole
    def test_another_host_names_the_only_rank_of_a_host(self):
        self.stop(2, "n2", ", or its host is out of reach")

    def run_to_place(self, place):
        """Exit code, output and places of a short training. Rank 2, alone on n2, stops at this place; 0: nowhere."""
        for host in ("n1", "n2"):
            (self.folder / host).mkdir(exist_ok=True)
        log = self.folder / f"places-{place}"
        words = []
        for name, value in {"LD_PRELOAD": LIBRARY, "HANG_POINTS_RANK": 2, "HANG_POINTS_LOG": log, "HANG_POINTS": place}.items():
            words += ["-x", f"{name}={value}"]
        train = [*TRAIN[:TRAIN.index("--epochs")], "--max-steps", "2", "--eval-every", "0", "--threads", "1", "--quiet",
                 "--run-id", f"end-{place}", "--stall-abort", str(LIMIT)]
        job = subprocess.run([*TWO_HOSTS, *words, *IN_OWN_FOLDER, PROGRAM, *train], cwd=self.folder, text=True, capture_output=True)
        return job.returncode, job.stderr, log.read_text().splitlines()

    @whole
    def test_the_end_of_a_rank_alone_on_its_host_is_not_waited_for(self):
        code, errors, places = self.run_to_place(0)
        self.assertEqual(code, 0, errors)
        code, errors, _ = self.run_to_place(1 + places.index("MPI_Finalize"))
        self.assertEqual(code, 124, errors)
        self.assertRegex(errors, r"(?m)^tandem: error: rank 0 \(n1, process \d+\) has not advanced for \d+ s: step 2, shutdown; "
                                 r"a rank of another host may not end; the job ends, see --stall-abort$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
