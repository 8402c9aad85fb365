#!/usr/bin/env python3
"""Some random lives of runs; tests/soak runs hundreds. A failure prints the acts; the seed is the number of the test's case."""

import pathlib
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from random import Random

from life import Life, own_mounts
from tandem import IS_WHOLE
from undisturbed import Undisturbed

LIVES = 10 if IS_WHOLE else 2
ACTS = 4


class Lives(unittest.TestCase):
    def test_after_each_act_nothing_is_lost(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-lives-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        own_mounts()
        undisturbed = Undisturbed(path)
        with ThreadPoolExecutor(2) as pool:
            lives = [pool.submit(Life(path / f"life-{seed}", undisturbed, Random(seed)).live, ACTS) for seed in range(LIVES)]
        for seed, life in enumerate(lives):
            with self.subTest(seed=seed):
                life.result()


if __name__ == "__main__":
    unittest.main(verbosity=2)
