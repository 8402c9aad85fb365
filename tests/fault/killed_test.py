#!/usr/bin/env python3
"""Ranks that are killed, and system calls of checkpoints that fail: the run goes on, to the same bits."""

import errno
import json
import os
import pathlib
import random
import re
import signal
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from hurt_run import LIBRARY, STEPS, HurtRun
from tandem import PROGRAM, QUICK, TandemTest, read_lines, whole

GONE_SECONDS = 5

# Calls of a checkpoint, by the start of the file's name; the soak kills at each kind of them.
KILLED_AT = [("write", ".step"), ("rename", "step"), ("read", ".step"), ("link", ".best"), ("unlink", "step")]
FAILING = [("write", ".step", "ENOSPC"), ("fdatasync", ".step", "EIO"), ("read", ".step", "EIO"), ("rename", "step", "EIO")]


class Killed(TandemTest):
    @classmethod
    def setUpClass(cls):
        """The run that nothing happens to, and its calls."""
        folder = tempfile.TemporaryDirectory(prefix="tandem-fault-")
        cls.addClassCleanup(folder.cleanup)
        run = HurtRun(pathlib.Path(folder.name), "whole")
        code, words = run.start(plan="").wait(55)
        assert code == 0, words
        cls.whole = run.outcome()
        cls.calls = run.calls()

    def check_each(self, check, cases):
        """check(run, *case), two at a time, each with a run of its own."""
        with ThreadPoolExecutor(2) as pool:
            futures = [(case, pool.submit(check, HurtRun(self.folder, f"run-{number}"), *case))
                       for number, case in enumerate(cases)]
        for case, future in futures:
            with self.subTest(case):
                future.result()

    def plan(self, name, file, action, which=-1):
        """The action at the first (0) or last (-1) such call."""
        numbers = [number for number, call in enumerate(self.calls, 1)
                   if call.name == name and call.file.startswith(file)]
        return f"any:{numbers[which]}:{action}"

    def assert_same_end(self, run):
        self.assertEqual(run.outcome(), self.whole)
        self.assertEqual(run.temporaries(), [])

    def assert_killed_and_goes_on(self, run, code, words, time_of_death):
        self.assertLess(time.time() - time_of_death, GONE_SECONDS)
        self.assertEqual(code, 128 + signal.SIGKILL, words)
        run.finish()
        self.assert_same_end(run)

    @whole
    def test_killed_within_the_last_checkpoint(self):
        """It is the best one too."""
        def check(run, name, file):
            code, words = run.start(plan=self.plan(name, file, "kill")).wait(30)
            self.assert_killed_and_goes_on(run, code, words, run.time_of_last_call())

        self.check_each(check, KILLED_AT)

    def test_killed_at_any_moment(self):
        def check(run, rank, step):
            job = run.start()
            while run.steps() < step:
                self.assertIsNone(job.process.poll())
                time.sleep(0.005)
            os.kill(job.ranks()[rank], signal.SIGKILL)
            time_of_death = time.time()
            self.assert_killed_and_goes_on(run, *job.wait(30), time_of_death)

        self.check_each(check, [(rank, random.randrange(1, STEPS // 2)) for rank in (0, 1)])

    @whole
    def test_a_call_that_fails_costs_this_checkpoint_only(self):
        def check(run, name, file, error):
            code, words = run.start(plan=self.plan(name, file, error, which=0)).wait(55)
            self.assertEqual(code, 0, words)
            self.assert_same_end(run)
            self.assertEqual(re.findall("tandem: (warning|error): ", words), ["warning"], words)
            self.assertRegex(words, f"warning: .*{os.strerror(getattr(errno, error))}.*a checkpoint needs ")

        self.check_each(check, FAILING)

    @whole
    def test_what_reads_back_otherwise_costs_this_checkpoint_only(self):
        """A bit of the length, of the header's second writing, of the first tensor."""
        def check(run, which, what):
            code, words = run.start(plan=self.plan("write", lost, "flip", which)).wait(55)
            self.assertEqual(code, 0, words)
            self.assert_same_end(run)
            self.assertEqual(re.findall("tandem: (warning|error): ", words), ["warning"], words)
            self.assertRegex(words, f"warning: .*: {what} reads back with other bytes than were written")
            self.assertEqual([path.stem for path in run.checkpoints()], ["step-00000040", "step-00000057", "step-00000060"])

        lost = ".step-00000050"
        self.check_each(check, [(0, "the header"), (-1, "the header"), (2, "tensor '.*'")])

    @whole
    def test_the_last_checkpoint_fails(self):
        """The ones before stay, and a rerun makes up for it."""
        run = HurtRun(self.folder, "a")
        code, words = run.start(plan=self.plan("lseek", ".step", "EIO")).wait(55)
        self.assertEqual(code, 74, words)
        self.assertRegex(words, "error: the last checkpoint is there, but the evaluation after it could not be added: "
                                ".*step-00000060.*Input/output error")
        self.assertEqual([path.stem for path in run.checkpoints()], ["step-00000050", "step-00000057", "step-00000060"],
                         "that of before the last evaluation stays")
        self.assertEqual(run.temporaries(), [])
        self.tandem("verify", *run.checkpoints())
        run.finish()
        self.assert_same_end(run)

    def test_a_best_that_cannot_be_named_is_named_with_the_next_checkpoint(self):
        run = HurtRun(self.folder, "a")
        code, words = run.start(plan=self.plan("rename", "best", "EIO", which=0)).wait(55)
        self.assertEqual(code, 0, words)
        self.assertEqual(re.findall("tandem: (warning|error): ", words), ["warning"], words)
        self.assertRegex(words, r"best\.safetensors: cannot be written: Input/output error; the checkpoint of this step is whole")
        self.assert_same_end(run)

    @whole
    def test_a_read_that_fails_is_no_damage(self):
        """The newest checkpoint cannot be read: to resume from an older one would lose progress."""
        run = HurtRun(self.folder, "a")
        run.finish()
        before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.name != "run.lock"}
        code, words = run.start(plan="read:1:EIO").wait(55)
        self.assertEqual(code, 74, words)
        self.assertRegex(words, r"error: .*runs/a/checkpoints/.*Input/output error")
        after = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.name != "run.lock"}
        self.assertEqual(after, before)

    def test_a_folder_that_cannot_be_listed_is_no_silent_restart(self):
        run = HurtRun(self.folder, "a")
        run.finish()
        checkpoints = run.checkpoints()
        code, words = run.start(plan="open:1:EIO").wait(55)
        self.assertEqual(code, 74, words)
        self.assertRegex(words, "error: .*runs/a/checkpoints.*Input/output error")
        self.assertEqual(run.checkpoints(), checkpoints)

    @whole
    def test_a_short_write_is_continued(self):
        run = HurtRun(self.folder, "a")
        code, words = run.start(plan=self.plan("write", ".step", "short")).wait(55)
        self.assertEqual((code, words), (0, ""))
        self.assertEqual(len(run.calls()), len(self.calls) + 1)
        self.tandem("verify", *run.checkpoints())
        self.assert_same_end(run)

    def test_an_evaluation_that_cannot_be_kept_is_a_warning_of_the_run(self):
        done = self.run_command([PROGRAM, "train", *QUICK, "--run-id", "a"], 0,
                                {"LD_PRELOAD": LIBRARY, "FAULT_POINTS_FOLDER": "runs/a",
                                 "FAULT_POINTS": "rename@evaluation.json:1+:EIO"})
        self.assertRegex(done.stderr, "tandem: warning: .*evaluation.json.*; the run continues without it")
        notes = [line for line in read_lines(self.folder / "runs/a/metrics.jsonl") if line["event"] == "warning"]
        self.assertIn("evaluation.json", json.dumps(notes))


if __name__ == "__main__":
    unittest.main(verbosity=2)
