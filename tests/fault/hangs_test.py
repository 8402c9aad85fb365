#!/usr/bin/env python3
"""A rank that stops at any call of MPI, from before the first to after the last, is named, and the job ends with 124."""

import concurrent.futures
import unittest

from hang_run import HangRuns
from tandem import TandemTest, whole


class Hangs(TandemTest):
    def check(self, *cases):
        """Each case: a form, a number of ranks, the rank that stops, and the name of the place; the last place of that name."""
        runs = HangRuns(self.folder, limit=15)

        def check(case):
            form, ranks, rank, place = case
            places = runs.places(form, ranks, rank)
            return runs.check(form, ranks, rank, len(places) - places[::-1].index(place))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, (reached, _) in zip(cases, pool.map(check, cases)):
                self.assertEqual(reached, case[-1])

    def test_from_the_start_to_the_end_of_train(self):
        self.check(("train", 2, 1, "MPI_Init_thread"), ("train", 2, 1, "MPI_Finalize"), ("train", 2, 0, "after MPI_Finalize"),
                   ("train", 2, 1, "exit"))

    @whole
    def test_other_commands(self):
        self.check(("eval", 2, 1, "MPI_Reduce"), ("bench step", 2, 0, "MPI_Barrier"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
