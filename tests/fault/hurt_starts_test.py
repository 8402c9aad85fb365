#!/usr/bin/env python3
"""A start that resumes a run is killed at a system call, or one of its calls fails; the soak does this at all calls."""

import pathlib
import random
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from crash_scenarios import SCENARIOS
from hurt_starts import WATCHED, LastStart, pack
from tandem import whole

KILLED = {"best alone": 4, "older path": 4, "end": 3, "on after the end": 3}  # calls of a scenario
FAILING = {"first start": 7, "auto": 7}


class HurtStarts(unittest.TestCase):
    def check_each(self, drawn, make, calls_of, check):
        """Runs this many calls of different kinds, two at a time."""
        with tempfile.TemporaryDirectory(prefix="tandem-fault-") as name:
            folder = pathlib.Path(name)
            data = pack(folder)
            scenarios = [each for each in SCENARIOS if each.name in drawn]
            with ThreadPoolExecutor(2) as pool:
                starts = list(pool.map(lambda each: make(each, folder / each.name, data), scenarios))
                futures = []
                for start in starts:
                    dice = random.Random(start.scenario.name)
                    kinds = {}
                    for call in calls_of(start):
                        kinds.setdefault(call[1:3], []).append(call)
                    for kind in dice.sample(sorted(kinds), drawn[start.scenario.name]):
                        call = dice.choice(kinds[kind])
                        futures.append((f"{start.scenario.name}: {call}", pool.submit(check, start, *call)))
            for what, future in futures:
                with self.subTest(what):
                    future.result()

    def test_killed_while_it_goes_on(self):
        self.check_each(KILLED, LastStart, LastStart.kills, LastStart.check_kill)

    @whole
    def test_a_call_that_fails(self):
        self.check_each(FAILING, lambda *where: LastStart(*where, WATCHED, ()), LastStart.faults, LastStart.check_fault)


if __name__ == "__main__":
    unittest.main(verbosity=2)
