#!/usr/bin/env python3
"""A power failure at any call of a run: from every possible crash state the same command resumes and ends with the same result."""

import pathlib
import random
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from crash_scenarios import SCENARIOS, Recorded
from hurt_starts import pack

POINTS = 16  # calls of a scenario, of as many kinds, after which all states are looked at
GONE_ON_WITH = 5  # states of a scenario


class CrashStates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-fault-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        data = pack(cls.folder)

        def record(scenario):
            try:
                return Recorded(scenario, cls.folder / scenario.name, data)
            except AssertionError as error:
                return error

        with ThreadPoolExecutor(2) as pool:
            cls.recorded = dict(zip([each.name for each in SCENARIOS], pool.map(record, SCENARIOS)))

    def recording_of(self, name):
        if isinstance(self.recorded[name], AssertionError):
            raise self.recorded[name]
        return self.recorded[name]

    def test_goes_on_from_each_state(self):
        looked_at, cases = 0, []
        for name in self.recorded:
            with self.subTest(name):
                recorded = self.recording_of(name)
                dice = random.Random(name)
                drawn = recorded.draw(POINTS, dice)
                lossy = [(recorded.describe(state), losses) for states in drawn for state in states
                         if (losses := recorded.losses(state))]
                self.assertEqual(lossy[:3], [], f"{len(lossy)} states lack something")
                looked_at += sum(map(len, drawn))
                cases += [(recorded, dice.choice(states)) for states in drawn[:GONE_ON_WITH]]
        with ThreadPoolExecutor(2) as pool:
            futures = [(recorded.describe(state), pool.submit(recorded.check, state, self.folder / f"state-{number}"))
                       for number, (recorded, state) in enumerate(cases)]
        for what, future in futures:
            with self.subTest(what):
                future.result()
        print(f"{looked_at:,} states looked at, {len(cases)} gone on with, of {len(self.recorded)} scenarios")

    def test_a_sync_that_is_left_out_is_found(self):
        """Without these calls, some crash states would have lost something: the test detects a missing sync."""
        recorded = self.recording_of("auto")
        opened = {}

        def is_sync_of(text):
            def is_left_out(call):
                if call.path:
                    opened[call.file] = call.path
                return call.name in ("fsync", "fdatasync") and opened[call.file].removeprefix(str(recorded.root)).startswith(text)
            return is_left_out

        for text, loss in (("/runs/a/checkpoints/.step-", "torn under its own name"),
                           ("/runs/a/checkpoints/.step-", "had been durable"),
                           ("/runs/a/metrics.jsonl", "metrics.jsonl lacks the steps"),
                           ("/runs/a/ranks/rank-0000.jsonl", "rank-0000.jsonl lacks the steps")):
            with self.subTest(text=text, loss=loss):
                poorer = recorded.record_without(is_sync_of(text))
                self.assertTrue(any(loss in each for state in poorer.states(0) for each in recorded.losses(state)))
        with self.subTest("folder"):
            poorer = recorded.record_without(lambda call: is_sync_of("/runs/a/checkpoints")(call) and
                                             "/checkpoints/" not in opened[call.file])
            self.assertTrue(any("had been durable" in each for state in poorer.states(0) for each in recorded.losses(state)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
