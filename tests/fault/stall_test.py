#!/usr/bin/env python3
"""If a rank stops advancing, it is named and the job ends soon. A slow disk and a suspended job do not end it."""

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock

from jobs import Job
from processes import ranks_of
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, whole

TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--epochs", "100000", "--log-every", "1",
         "--eval-every", "0", "--quiet"]

# Seconds of --stall-abort. A start takes less, also where other tests keep all cores busy.
LIMIT = 15

FAULT_POINTS = os.environ["TANDEM_TEST_FAULT_POINTS"]


class Stall(TandemTest):
    def start(self, run_id, ranks, *options):
        return self.start_command(ranks, [*TRAIN, "--run-id", run_id, *options], f"runs/{run_id}")

    def start_command(self, ranks, words, run):
        command = [*MPIRUN, "-n", str(ranks), PROGRAM, *words]
        process = subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_for_step(process, run, 5)
        return process

    def wait_until_gone(self, processes):
        start = time.monotonic()
        while any(os.path.exists(f"/proc/{process}") for process in processes):
            self.assertLess(time.monotonic() - start, 5)
            time.sleep(0.05)

    def test_a_stopped_rank_is_named(self):
        for ranks, grace in ((2, 1), (4, 12)):  # seconds between SIGTERM and SIGKILL of mpirun
            with self.subTest(ranks=ranks), unittest.mock.patch.dict(os.environ, OMPI_MCA_odls_base_sigkill_timeout=str(grace)):
                process = self.start(f"np{ranks}", ranks, "--stall-warn", "2", "--stall-abort", str(LIMIT))
                stopped = ranks_of(process.pid)[1]
                os.kill(stopped, signal.SIGSTOP)
                start = time.monotonic()
                _, errors = process.communicate()
                self.assertLess(time.monotonic() - start, LIMIT + 5 + 2 * grace)
                self.assertEqual(process.returncode, 124, errors)
                self.assertEqual(errors.count("error:"), 1, errors)
                named = rf"rank 1 \(\S+, process {stopped}\) has not advanced for \d+ s: step \d+, [a-z]+; its process does not run"
                self.assertEqual(len(re.findall("warning: " + named, errors)), 1, errors)
                self.assertRegex(errors, "error: " + named)
                self.assertRegex(errors, rf"; the job ends, see --stall-abort\n  fix: mpirun (--bind-to none )?-np {ranks} \S+ train --data .* "
                                         rf"--stall-abort {LIMIT} --run-id np{ranks} --resume auto\n")
                self.wait_until_gone([stopped])

    def fix_of_stall(self, words, run):
        """What the message names after "fix: ", or None, if rank 1 of this command stops."""
        process = self.start_command(2, [*words, "--stall-abort", str(LIMIT)], run)
        os.kill(ranks_of(process.pid)[1], signal.SIGSTOP)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 124, errors)
        found = re.search("the job ends, see --stall-abort(?:\n  fix: (.*))?\n", errors)
        self.assertIsNotNone(found, errors)
        return found[1]

    @whole
    def test_the_fix_finds_the_run_of_a_checkpoint(self):
        self.mpirun(1, *TRAIN, "--run-id", "a", "--runs-dir", "mine", "--max-steps", "2")
        fix = self.fix_of_stall([*TRAIN, "--resume", "mine/a/checkpoints/step-00000002.safetensors"], "mine/a")
        self.assertRegex(fix, r" --runs-dir /\S+/mine --run-id a --resume auto$")

    @whole
    def test_no_fix_resumes_one_of_several_runs(self):
        self.assertIsNone(self.fix_of_stall(["bench", "tta", "--", *TRAIN[1:TRAIN.index("--eval-every")], "--run-id", "a", "--seed", "5"],
                                            "runs/a-5"))

    @whole
    def test_a_suspended_job_goes_on(self):
        process = self.start("a", 2, "--stall-abort", str(LIMIT), "--max-steps", "400")
        ranks = ranks_of(process.pid).values()
        self.assertEqual(len(ranks), 2)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for rank in ranks:
                os.kill(rank, number)
            if number == signal.SIGSTOP:
                time.sleep(LIMIT + 1)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("advanced", errors)

    def run_on_slow_disk(self, calls, *command):
        """Returns exit code, output and seconds."""
        start = time.monotonic()
        job = Job([*MPIRUN, "-n", 2, "-x", f"LD_PRELOAD={FAULT_POINTS}", PROGRAM, *command, "--stall-warn", "0", "--stall-abort", "5"],
                  self.folder, {"FAULT_POINTS_FOLDER": str(self.folder), "FAULT_POINTS": calls})
        return *job.wait(120), time.monotonic() - start

    @whole
    def test_a_slow_disk_is_no_stall(self):
        """Each call takes half a second, on the checkpoint that is written, on the data set, and on the model that eval reads."""
        shutil.copy(DATA, self.folder / "data.h5")
        train = ["train", "--data", "data.h5", "--model", "lenet", "--global-batch-size", "64", "--max-steps", "2", "--eval-every", "0"]
        self.assertEqual(Job([PROGRAM, *train, "--run-id", "a"], self.folder).wait(60)[0], 0)
        jobs = (("write@step-00000002:1+:slow", *train, "--run-id", "b"),
                ("read@data.h5:1+:slow", *train, "--run-id", "c"),
                ("read@step-00000002:1+:slow", "eval", "--data", DATA, "--checkpoint", "runs/a/checkpoints/step-00000002.safetensors"))
        with concurrent.futures.ThreadPoolExecutor() as at_a_time:  # each mostly waits for its disk
            ends = list(at_a_time.map(lambda job: self.run_on_slow_disk(*job), jobs))
        for job, (code, words, seconds) in zip(jobs, ends, strict=True):
            with self.subTest(job[0]):
                self.assertGreater(seconds, 5, "too soon for a slow disk")
                self.assertEqual(code, 0, words)
                self.assertNotIn("advanced", words)

    def test_ranks_do_not_outlive_their_launcher(self):
        process = self.start("a", 2)
        ranks = ranks_of(process.pid).values()
        process.kill()
        self.wait_until_gone(ranks)


if __name__ == "__main__":
    unittest.main(verbosity=2)
