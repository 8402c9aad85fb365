#!/usr/bin/env python3
"""Ranks on one host of which each is process 1, as where every rank has a container: the number of one's process means another's."""

import json
import os
import unittest

from tandem import MPIRUN, PROGRAM, TandemTest

# Between such processes Open MPI's own shared memory fails.
EACH_ON_ITS_OWN = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "-n", "2",
                   *os.environ["TANDEM_TEST_UNSHARE"].split(), "--pid", "--fork", "--kill-child", "--mount-proc"]


class ProcessNumbers(TandemTest):
    def test_sums_are_right(self):
        """By messages: each would take its own gradients for the other's."""
        done = self.run_command([*MPIRUN, *EACH_ON_ITS_OWN, PROGRAM, "bench", "allreduce", "--min-bytes", "256K", "--max-bytes", "256K",
                                 "--seconds", "0", "--json"], 0, {})
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(result["ranks"], 2)
        self.assertEqual([size["wrong"] for size in result["sizes"]], [0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
