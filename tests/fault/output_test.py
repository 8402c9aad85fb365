#!/usr/bin/env python3
"""If standard output is full, closed, or read by nobody, a training only loses lines; a command whose result is its output ends
with 74."""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
import unittest

from tandem import DATA, PROGRAM, QUICK, TandemTest

WARNING = "tandem: warning: standard output: .*lines are missing there"
ENDLESS = ["train", "--data", DATA, "--model", "lenet", "--epochs", "100000", "--eval-every", "0", "--log-every", "1"]


class Output(TandemTest):
    def redirected(self, where, *arguments, code=0):
        return self.run_command(["bash", "-c", f'exec "$@" {where}', "bash", PROGRAM, *arguments], code, {})

    def begin(self, run_id, *command, **streams):
        """A training that has made two steps."""
        run = subprocess.Popen([*command, "--run-id", run_id], cwd=self.folder, text=True, **streams)
        self.addCleanup(run.kill)
        metrics = self.folder / "runs" / run_id / "metrics.jsonl"
        while not (metrics.exists() and '"step":2,' in metrics.read_text()):
            self.assertIsNone(run.poll())
            time.sleep(0.01)
        return run

    def assert_whole(self, run_id, reason="completed"):
        run = self.folder / "runs" / run_id
        self.assertEqual(json.loads((run / "summary.json").read_text())["exit_reason"], reason)
        self.assertTrue(list((run / "checkpoints").glob("step-*")))
        if reason == "completed":
            self.assertTrue((run / "model/model.safetensors").exists())

    def test_training_does_without_it(self):
        for name, where in {"full": "> /dev/full", "closed": ">&-", "no-reader": "> >(true)"}.items():
            with self.subTest(name):
                done = self.redirected(where, "train", *QUICK, "--log-ranks", "all", "--log-every", "1", "--run-id", name)
                self.assert_whole(name)
                if name != "no-reader":  # which may end after the training
                    self.assertEqual(len(re.findall(WARNING, done.stderr)), 1, done.stderr)

    def test_training_does_not_wait_for_a_reader_for_ever(self):
        """A full pipe, like that of a pager that waits for a key."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            fcntl.fcntl(writing, fcntl.F_SETFL, flags)
        with os.fdopen(writing) as output:
            done = subprocess.run([PROGRAM, "train", *QUICK, "--run-id", "a"], cwd=self.folder, stdout=output, text=True,
                                  stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("standard output: nothing is read from it", done.stderr)), 1, done.stderr)
        self.assert_whole("a")

    def test_a_training_whose_reader_ended_first_is_stopped_and_saved(self):
        """Ctrl-C on `tandem train | tee log` may end tee first."""
        run = self.begin("a", PROGRAM, *ENDLESS, "--log-ranks", "all", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdout.close()
        run.send_signal(signal.SIGINT)
        errors = run.stderr.read()
        run.stderr.close()
        self.assertEqual(run.wait(), 75, errors)
        self.assert_whole("a", "stopped")

    def test_descriptors_that_are_closed_are_given_to_no_file(self):
        run = self.begin("a", "bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", PROGRAM, *ENDLESS)
        self.assertEqual({os.readlink(f"/proc/{run.pid}/fd/{number}") for number in (0, 1, 2)}, {"/dev/null"})
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 75)

    def test_a_product_that_cannot_be_written_is_74(self):
        self.tandem("train", *QUICK, "--run-id", "a")
        for where, *command in (["> /dev/full", "inspect", "runs/a"], ["> /dev/full", "runs"], [">&-", "runs"],
                                ["> /dev/full", "eval", "--data", DATA, "--checkpoint", "runs/a"]):
            with self.subTest(where=where, command=command):
                done = self.redirected(where, *command, code=74)
                self.assertEqual(re.findall("tandem: error: (.*): ", done.stderr), ["standard output"], done.stderr)
        done = self.redirected("> /dev/full", "train", *QUICK, "--run-id", "b", "--json", "--quiet", code=74)
        self.assertRegex(done.stderr, r"error: standard output: No space left on device")
        self.assert_whole("b")
        done = self.mpirun_in_shell(2, 'exec "$@" > /dev/full', "eval", "--data", DATA, "--checkpoint", "runs/a", code=74)
        self.assertEqual(len(re.findall("tandem: error: ", done.stderr)), 1, done.stderr)

    def test_a_line_about_a_file_is_no_product(self):
        done = self.redirected("> /dev/full", "pack", "--input", "synthetic", "--images", "20", "--output", "x.h5")
        self.assertRegex(done.stderr, WARNING)
        self.tandem("verify", "x.h5")

    def test_traces_that_cannot_be_written_are_a_warning(self):
        shorter = [*QUICK]
        shorter[shorter.index("--max-steps") + 1] = "1"
        self.tandem("train", *shorter, "--run-id", "a", "--quiet")
        (self.folder / "runs/a/traces").touch()
        done = self.mpirun(2, "train", *QUICK, "--run-id", "a", "--resume", "auto", "--profile", "2", "--quiet")
        self.assertEqual(len(re.findall("tandem: warning: --profile: .*traces.*; training goes on", done.stderr)), 1, done.stderr)
        self.assert_whole("a")


if __name__ == "__main__":
    unittest.main(verbosity=2)
