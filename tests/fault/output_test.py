#!/usr/bin/env python3
"""If standard output is full, closed, or read by nobody, a training only loses lines; a command whose result is its output ends
with 74."""

import fcntl
import json
import os
import re
import signal
import subprocess
import unittest

from PIL import Image

from tandem import DATA, PROGRAM, QUICK, TandemTest, whole

WARNING = "tandem: warning: standard output: .*lines are missing there"
ENDLESS = ["train", "--data", DATA, "--model", "lenet", "--epochs", "100000", "--eval-every", "0", "--log-every", "1"]


class Output(TandemTest):
    def redirected(self, where, *arguments, code=0):
        return self.run_command(["bash", "-c", f'exec "$@" {where}', "bash", PROGRAM, *arguments], code, {})

    def begin(self, run_id, *command, **streams):
        """A training that has made two steps."""
        run = subprocess.Popen([*command, "--run-id", run_id], cwd=self.folder, text=True, **streams)
        self.addCleanup(run.kill)
        self.wait_for_step(run, f"runs/{run_id}", 2)
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

    def full_pipe(self):
        """Like that of a pager that waits for a key."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            fcntl.fcntl(writing, fcntl.F_SETFL, flags)
        output = os.fdopen(writing)
        self.addCleanup(output.close)
        return output

    @whole
    def test_training_does_not_wait_for_a_reader_for_ever(self):
        for more, code in ([], 0), (["--json", "--quiet"], 74):
            with self.subTest(more=more):
                name = f"a{code}"
                done = subprocess.run([PROGRAM, "train", *QUICK, "--run-id", name, *more], cwd=self.folder, text=True,
                                      stdout=self.full_pipe(), stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(len(re.findall("standard output: no process reads it", done.stderr)), 1, done.stderr)
                self.assert_whole(name)

    def test_a_signal_does_not_wait_for_a_reader_of_messages(self):
        run = self.begin("a", PROGRAM, *ENDLESS, "--quiet", stderr=self.full_pipe())
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(60), 75)
        self.assert_whole("a", "stopped")

    @whole
    def test_a_run_that_was_complete_needs_no_output(self):
        self.tandem("train", *QUICK, "--run-id", "a", "--quiet")
        done = self.redirected(">&-", "train", *QUICK, "--run-id", "a", "--resume", "auto")
        self.assertEqual(len(re.findall(WARNING, done.stderr)), 1, done.stderr)
        self.redirected(">&-", "train", *QUICK, "--run-id", "a", "--resume", "auto", "--json", code=74)
        self.mpirun(2, "train", *QUICK, "--run-id", "b", "--quiet")
        done = self.mpirun_in_shell(2, 'exec "$@" > /dev/full', "train", *QUICK, "--run-id", "b", "--resume", "auto", "--json",
                                    code=74)
        self.assertRegex(done.stderr, "tandem: error: standard output: No space left on device", "all ranks end, none aborts")

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

    @whole
    def test_a_product_that_cannot_be_written_is_74(self):
        self.tandem("train", *QUICK, "--run-id", "a")
        Image.new("RGB", (32, 32)).save(self.folder / "picture.png")
        for where, *command in (["> /dev/full", "inspect", "runs/a"], ["> /dev/full", "runs"], [">&-", "runs"],
                                ["> /dev/full", "eval", "--data", DATA, "--checkpoint", "runs/a"],
                                ["> /dev/full", "predict", "--checkpoint", "runs/a", "picture.png"]):
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

    @whole
    def test_traces_that_cannot_be_written_are_a_warning(self):
        shorter = [*QUICK]
        shorter[shorter.index("--max-steps") + 1] = "1"
        self.tandem("train", *shorter, "--run-id", "a", "--quiet")
        (self.folder / "runs/a/traces").touch()
        done = self.mpirun(2, "train", *QUICK, "--run-id", "a", "--resume", "auto", "--profile", "2", "--quiet")
        self.assertEqual(len(re.findall("tandem: warning: --profile: .*traces.*; training continues", done.stderr)), 1, done.stderr)
        self.assert_whole("a")


if __name__ == "__main__":
    unittest.main(verbosity=2)
