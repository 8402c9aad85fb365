#!/usr/bin/env python3
"""Ranks whose clocks are an hour apart train as if they were not: the same losses and weights, and nobody is called late.

The time of day is faked, as where a host's clock is wrong; the monotonic clock counts on, as it does there."""

import json
import os
import re
import time
import unittest

from rank_variable import FIND_RANK
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines, whole

FAKETIME = os.environ["TANDEM_TEST_FAKETIME"]
HOUR = 3600
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--augment", "standard",
         "--epochs", "1000", "--eval-every", "3", "--log-every", "1", "--checkpoint-every", "1s", "--quiet", "--json"]


class Clocks(TandemTest):
    def train(self, run_id, hours, *options, code=0):
        """`hours` of each rank's clock against the machine's. The summary."""
        offsets = " ".join(f"{hour:+}h" for hour in hours)
        fake = f'export LD_PRELOAD="{FAKETIME}" FAKETIME="$offset" FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1'
        script = (FIND_RANK + f'offsets=({offsets}); offset=${{offsets[$rank]}}; if [ "$offset" != +0h ]; then {fake}; fi; '
                  'date +%s > "clock-$rank"; exec "$@"')
        done = self.mpirun_in_shell(len(hours), script, *TRAIN, "--run-id", run_id, *options, code=code)
        warnings = re.findall("^tandem: (.*)$", done.stderr, re.MULTILINE)
        self.assertEqual(len(warnings), len(set(hours)) - 1, done.stderr)
        for warning in warnings:
            self.assert_names_clock(warning.removeprefix("warning: "), hours)
        for rank, hour in enumerate(hours):
            clock = int((self.folder / f"clock-{rank}").read_text())
            self.assertAlmostEqual(clock, time.time() + hour * HOUR, delta=HOUR / 2, msg=f"the clock of rank {rank}")
        return json.loads(done.stdout.splitlines()[-1])

    def assert_names_clock(self, text, hours):
        how = "ahead of" if hours[1] > hours[0] else "behind"
        named = re.match(rf"W190 the clock of rank 1 \(\S+\) is ([0-9.]+) s {how} that of rank 0 ", text)
        self.assertTrue(named, text)
        self.assertAlmostEqual(float(named[1]), abs(hours[1] - hours[0]) * HOUR, delta=1)

    def lines(self, run_id, event):
        return [line for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl") if line["event"] == event]

    def numbers(self, run_id):
        """What does not depend on the time."""
        names = ("event", "step", "epoch", "loss", "accuracy", "lr", "test_loss", "test_accuracy")
        numbers = [[line.get(name) for name in names] for event in ("step", "eval") for line in self.lines(run_id, event)]
        self.assertTrue(numbers)
        return numbers

    @whole
    def test_an_hour_changes_nothing(self):
        options = ["--max-steps", "60", "--max-time", "00:20:00"]
        right = self.train("right", (0, 0), *options)
        for run_id, hours in (("fast1", (0, 1)), ("slow1", (0, -1)), ("fast0", (1, 0)), ("slow0", (-1, 0))):
            with self.subTest(hours=hours):
                summary = self.train(run_id, hours, *options)
                self.assertEqual(summary["weights_sha256"], right["weights_sha256"])
                self.assertEqual((summary["exit_reason"], summary["steps"]), ("completed", 60))
                self.assertEqual(self.numbers(run_id), self.numbers("right"))
                self.assertTrue(0 < summary["train_seconds"] < HOUR / 2)
                self.assertEqual(self.lines(run_id, "warning"), [])
                for line in self.lines(run_id, "step"):  # of rank 0, which writes them
                    self.assertAlmostEqual(line["time"], time.time() + hours[0] * HOUR, delta=HOUR / 2)

    def test_doctor_finds_it(self):
        fake = f'LD_PRELOAD="{FAKETIME}" FAKETIME=-1h FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1'
        script = FIND_RANK + f'if [ "$rank" = 1 ]; then export {fake}; fi; exec "$@"'
        done = self.mpirun_in_shell(2, script, "doctor", "--json")
        text, = [f"W190 {each['what']}" for each in json.loads(done.stdout)["findings"] if each["code"] == "W190"]
        self.assert_names_clock(text, (0, -1))

    @whole
    def test_a_time_limit_counts_seconds_that_pass(self):
        start = time.monotonic()
        stopped = self.train("a", (1, -1), "--max-time", "00:00:10", "--stop-margin", "2", code=75)
        self.assertEqual(stopped["exit_reason"], "stopped")
        self.assertGreater(time.monotonic() - start, 2)
        self.assertGreaterEqual(len(self.lines("a", "checkpoint")), 2, "one after a second, one at the end")
        steps = stopped["steps"] + 20
        self.train("a", (-1, 1), "--resume", "auto", "--max-steps", str(steps))
        self.assertEqual([line["step"] for line in self.lines("a", "step")], list(range(1, steps + 1)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
